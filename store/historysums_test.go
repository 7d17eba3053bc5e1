// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// labelOf returns a label of a row as matchers see it.
func (r *historyRow) labelOf(w *historyWindow, label string) string {
	if label == "service_name" {
		return w.service
	}
	return r.labels[label]
}

// naiveMatcher selects rows in the naive way.
type naiveMatcher struct {
	label string
	op    store.MatchOp
	value string
}

func (m naiveMatcher) matches(w *historyWindow, r *historyRow) bool {
	equal := r.labelOf(w, m.label) == m.value
	if m.label == "profile_id" || m.label == "span_id" {
		equal = r.labels["profile_id"] == m.value || r.labels["span_id"] == m.value
	}
	if m.label == "span.http.route" {
		equal = r.of != nil && !r.of.end.IsZero() && r.of.route == m.value
	}
	switch m.op {
	case store.MatchNotEqual:
		return !equal
	case store.MatchRegexp: // a list of values
		return slices.Contains(strings.Split(m.value, "|"), r.labelOf(w, m.label))
	default:
		return equal
	}
}

// question is a query for samples, in both ways.
type question struct {
	kind        exporter.Kind
	sampleType  string
	matchers    []naiveMatcher
	from, until time.Time
}

func (q *question) query(t *testing.T) store.Query {
	of := store.Query{Kind: q.kind, SampleType: q.sampleType, From: q.from, Until: q.until}
	for _, m := range q.matchers {
		of.Matchers = append(of.Matchers, matcher(t, m.label, m.op, m.value))
	}
	return of
}

// listsSpans reports whether a question lists ids or attributes: the answer may have more
// than the windows held.
func (q *question) listsSpans() bool {
	return slices.ContainsFunc(q.matchers, func(m naiveMatcher) bool {
		return m.op != store.MatchNotEqual && (strings.HasSuffix(m.label, "_id") || strings.HasPrefix(m.label, "span."))
	})
}

// naiveAnswer is what lists of rows have for a question.
type naiveAnswer struct {
	stacks         map[string]int64
	total, samples int64
	byLabel        map[string][2]int64 // values and samples of each window, also momentary ones
}

func (h *chronicle) answer(q *question, windows []*historyWindow) naiveAnswer {
	a := naiveAnswer{stacks: make(map[string]int64), byLabel: make(map[string][2]int64)}
	newest := make(map[string]*historyWindow)
	var of []*historyWindow
	for _, w := range windows {
		if w.kind != q.kind || !q.from.IsZero() && !w.end.After(q.from) || !q.until.IsZero() && !w.start.Before(q.until) {
			continue
		}
		if of = append(of, w); slices.ContainsFunc(w.rows, func(r historyRow) bool { return q.matches(w, &r) }) {
			newest[w.service] = w
		}
	}
	for _, w := range of {
		column := slices.Index(w.types, q.sampleType)
		isOld := strings.HasPrefix(q.sampleType, "inuse_") && newest[w.service] != w
		for i := range w.rows {
			r := &w.rows[i]
			if !q.matches(w, r) || r.values[column] == 0 {
				continue
			}
			key := fmt.Sprint(r.labels["span_name"], w.service, w.start.UnixNano())
			sum := a.byLabel[key]
			a.byLabel[key] = [2]int64{sum[0] + r.values[column], sum[1] + r.count}
			if !isOld {
				a.stacks[r.stack] += r.values[column]
				a.total += r.values[column]
				a.samples += r.count
			}
		}
	}
	return a
}

func (q *question) matches(w *historyWindow, r *historyRow) bool {
	for _, m := range q.matchers {
		if !m.matches(w, r) {
			return false
		}
	}
	return true
}

// random returns a question of any form.
func (h *chronicle) question() question {
	q := question{kind: exporter.KindCPU, sampleType: pick(h, []string{"cpu", "samples"})}
	switch h.IntN(6) {
	case 0:
		q.kind, q.sampleType = exporter.KindWall, "wall"
	case 1:
		q.kind, q.sampleType = exporter.KindHeap, pick(h, []string{"alloc_space", "inuse_space", "inuse_objects"})
		return q
	}
	equality := pick(h, []store.MatchOp{store.MatchEqual, store.MatchNotEqual})
	for range h.IntN(3) {
		switch h.IntN(7) {
		case 0:
			q.matchers = append(q.matchers, naiveMatcher{"lane", equality, pick(h, []string{"1", ""})})
		case 1:
			q.matchers = append(q.matchers, naiveMatcher{"service_name", equality, "billing"})
		case 2:
			q.matchers = append(q.matchers, naiveMatcher{"span_name", store.MatchRegexp, "GET /0|query /1|job"})
		case 3:
			q.matchers = append(q.matchers, naiveMatcher{"profile_id", equality, "job 1 of checkout"})
		case 4:
			q.matchers = append(q.matchers, naiveMatcher{"span.http.route", store.MatchEqual, "/1"})
		case 5:
			if len(h.ended) > 0 {
				q.matchers = append(q.matchers, naiveMatcher{pick(h, []string{"profile_id", "span_id", "ended_span_id"}), equality, pick(h, h.ended).id})
			}
		case 6:
			if len(h.ended) > 0 {
				label := pick(h, []string{"profile_id", "span_id", "trace_id"})
				a, b := pick(h, h.ended), pick(h, h.ended)
				list := map[bool]string{false: a.id + "|job 1 of checkout|" + b.id, true: a.trace + "|" + b.trace}[label == "trace_id"]
				q.matchers = append(q.matchers, naiveMatcher{label, store.MatchRegexp, list})
			}
		}
	}
	if h.IntN(2) == 0 && len(h.windows) > 0 {
		q.from = pick(h, h.windows).start.Add(step / 2)
	}
	if h.IntN(2) == 0 && len(h.windows) > 0 {
		q.until = pick(h, h.windows).end.Add(-step / 2)
	}
	return q
}

// checkSums compares sums of samples with the lists, and with each other.
func (h *chronicle) checkSums(v store.View, held []*historyWindow) {
	h.t.Helper()
	q := h.question()
	query := q.query(h.t)
	query.Stacks = true
	got := must[*store.Samples](h)(v.Samples(query))
	stacks := make(map[string]int64) // functions of different addresses are one
	for _, line := range folded(got) {
		stack, value, _ := strings.Cut(line, " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		stacks[stack] += n
	}
	want := h.answer(&q, held)
	if len(held) < len(h.windows) && q.listsSpans() {
		if most := h.answer(&q, h.windows); got.Total < want.total || got.Total > most.total {
			h.fail("%+v: total %d, want %d to %d", q, got.Total, want.total, most.total)
		}
		return
	}
	if diff := gocmp.Diff(want.stacks, stacks); diff != "" || got.Total != want.total {
		h.fail("%+v: total %d, want %d: %s", q, got.Total, want.total, diff)
	}
	query.Stacks, query.Pprof = false, true
	p := must[*store.Samples](h)(v.Samples(query)).Profile
	column, sum := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == q.sampleType }), int64(0)
	for _, s := range p.Sample {
		sum += s.Value[column]
	}
	if sum != want.total {
		h.fail("%+v: total %d, %d in the pprof form", q, want.total, sum)
	}
	query.Pprof, query.Labels, query.Steps = false, []string{"span_name", "service_name"}, true
	byLabel := make(map[string][2]int64)
	for _, s := range must[*store.Samples](h)(v.Samples(query)).Sums {
		byLabel[fmt.Sprint(s.Labels[0], s.Labels[1], s.Start.UnixNano())] = [2]int64{s.Value, s.Samples}
	}
	if q.kind == exporter.KindHeap { // its samples are sites
		for _, sums := range []map[string][2]int64{byLabel, want.byLabel} {
			for key, sum := range sums {
				sums[key] = [2]int64{sum[0]}
			}
		}
	}
	if diff := gocmp.Diff(want.byLabel, byLabel); diff != "" {
		h.fail("%+v: over time, by label: %s", q, diff)
	}
	if q.kind == exporter.KindHeap {
		return
	}
	if got.Samples != want.samples {
		h.fail("%+v: %d samples, want %d", q, got.Samples, want.samples)
	}
	query.Kind, query.SampleType = "", ""
	kinds := must[*store.Samples](h)(v.Samples(query)).Sums
	i := slices.IndexFunc(kinds, func(s store.Sum) bool { return s.Kind == q.kind })
	if i < 0 && want.samples > 0 || i >= 0 && kinds[i].Samples != want.samples {
		h.fail("%+v: kinds %+v, want %d samples", q, kinds, want.samples)
	}
}
