// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// historySums are the samples of one span.
type historySums struct {
	CPU, AfterEnd time.Duration
	CPUSamples    int64
	WallSamples   int64
	Held          int64
}

// sums returns the samples of a span, and the part of them that came late.
func (h *chronicle) sums(s *historySpan, windows []*historyWindow) (all, late historySums) {
	for _, w := range windows {
		for i := range w.rows {
			r := &w.rows[i]
			if r.after == s && w.kind == exporter.KindCPU {
				all.AfterEnd += time.Duration(r.values[1])
			}
			if r.of != s {
				continue
			}
			to := []*historySums{&all}
			if r.late {
				to = append(to, &late)
			}
			for _, to := range to {
				to.Held += r.count
				if w.kind == exporter.KindCPU {
					to.CPU += time.Duration(r.values[1])
					to.CPUSamples += r.count
				} else {
					to.WallSamples += r.count
				}
			}
		}
	}
	return all, late
}

// below returns the CPU time of a span and of all spans below it, each row once.
func (h *chronicle) below(s *historySpan) (cpu time.Duration) {
	for _, w := range h.windows {
		for i := range w.rows {
			r := &w.rows[i]
			of := r.of
			for of != nil && of != s {
				of = of.parent
			}
			if w.kind == exporter.KindCPU && of == s {
				cpu += time.Duration(r.values[1])
			}
		}
	}
	return cpu
}

// coverage returns how much of a span's time its service has CPU profiles of.
func (h *chronicle) coverage(s *historySpan) (coverage store.Coverage, complete, known bool) {
	var covered, until int64
	first, last := s.start.UnixNano(), s.end.UnixNano()
	for _, w := range h.windows {
		if w.kind != exporter.KindCPU || w.service != s.service || (w.process < h.process) != (s.process < h.process) {
			continue
		}
		start, end := w.start.UnixNano(), w.end.UnixNano()
		if start-until < 200e6 { // a rotation is no gap
			start = until
		}
		until = end
		covered += max(0, min(end, last)-max(start, first))
	}
	switch length := min(until, last) - first; {
	case length <= 0 || covered == length:
		coverage = store.CoverageWhole
	case covered > 0:
		coverage = store.CoveragePartial
	default:
		coverage = store.CoverageNone
	}
	return coverage, last <= until, until > 0
}

// checkSpans compares the list of spans with the spans that ended.
func (h *chronicle) checkSpans(v store.View, held []*historyWindow) {
	h.t.Helper()
	listed := must[store.SpanList](h)(v.Spans(store.SpanQuery{})).Spans
	byID := make(map[string]*store.Span)
	manual := 0
	for i, s := range listed {
		if byID[s.ProfileID] != nil {
			h.fail("%s is listed twice", s.ProfileID)
		}
		byID[s.ProfileID] = &listed[i]
		if s.Manual {
			manual++
		}
	}
	if want := h.manual(held); manual != want {
		h.fail("%d manual exemplars, want %d", manual, want)
	}
	outlive := h.outlive()
	for _, s := range h.ended {
		got := byID[s.id]
		delete(byID, s.id)
		may, must := s.listed, s.listed && (len(held) == len(h.windows) || outlive[s] || s.end.After(held[0].start))
		if got != nil && !may || got == nil && must {
			h.fail("%s %s: listed %t, want %t", s.name, s.id, got != nil, must)
		}
		if got != nil {
			h.checkSpan(v, s, got, held, outlive[s])
		}
	}
	if len(byID) != manual {
		h.fail("%d more spans are listed than ended", len(byID)-manual)
	}
	h.checkAbove(listed)
	h.checkLists(v, listed)
}

// checkAbove compares the nearest span of the same list above each span.
func (h *chronicle) checkAbove(list []store.Span) {
	h.t.Helper()
	isListed := make(map[string]bool)
	for _, s := range list {
		isListed[s.ProfileID] = true
	}
	spans := make(map[string]*historySpan)
	for _, s := range h.ended {
		spans[s.id] = s
	}
	for _, s := range list {
		of := spans[s.ProfileID]
		if of == nil || s.Earlier {
			continue
		}
		want := ""
		for of = of.parent; of != nil && spans[of.id] != nil && of.listed && want == ""; of = of.parent {
			if isListed[of.id] {
				want = of.id
			}
		}
		if s.Above != want {
			h.fail("%s %s is below %q, want %q", s.Name, s.ProfileID, s.Above, want)
		}
	}
}

// outlive returns the spans that outlive the windows of their samples. They are the
// slowest span of each name, the one with most CPU time, and the last error with samples.
// All samples of these spans have come.
func (h *chronicle) outlive() map[*historySpan]bool {
	type rank struct {
		historyName
		by string
	}
	best, values := make(map[rank]*historySpan), make(map[rank]int64)
	for _, s := range h.ended {
		if !s.listed || s.end.After(h.now.Add(-4*step)) {
			continue
		}
		all, _ := h.sums(s, h.windows)
		of := map[string]int64{"slowest": int64(s.end.Sub(s.start)), "CPU": int64(all.CPU), "error": 0}
		if s.err && all.CPU > 0 {
			of["error"] = s.end.UnixNano()
		}
		for by, value := range of {
			if key := (rank{historyName{s.service, s.name}, by}); value > values[key] {
				best[key], values[key] = s, value
			}
		}
	}
	spans := make(map[*historySpan]bool)
	for _, s := range best {
		spans[s] = true
	}
	return spans
}

func (h *chronicle) checkSpan(v store.View, s *historySpan, got *store.Span, held []*historyWindow, outlives bool) {
	h.t.Helper()
	want := store.Span{
		ProfileID: s.id, TraceID: s.trace, Name: s.name, Service: s.service, Start: s.start, Duration: s.end.Sub(s.start), Err: s.err, LocalRoot: s.root,
		Attributes: []store.Attribute{{Key: "http.route", Value: s.route}},
	}
	if s.err {
		want.Status = "refused"
	}
	is := store.Span{
		ProfileID: got.ProfileID, TraceID: got.TraceID, Name: got.Name, Service: got.Service, Start: got.Start.UTC(), Duration: got.Duration, Err: got.Err, LocalRoot: got.LocalRoot,
		Attributes: got.Attributes, Status: got.Status,
	}
	if diff := gocmp.Diff(want, is); diff != "" {
		h.fail("%s: %s", s.id, diff)
	}
	all, late := h.sums(s, h.windows)
	least, _ := h.sums(s, held)
	sums := historySums{got.CPU, got.CPUAfterEnd, got.CPUSamples, got.WallSamples, got.SamplesHeld}
	switch {
	case late != historySums{}:
		if got.CPU < all.CPU-late.CPU || got.CPU+got.CPUAfterEnd != all.CPU+all.AfterEnd {
			h.fail("%s %s: %+v, want %+v, of it late %+v", s.name, s.id, sums, all, late)
		}
	case len(held) == len(h.windows):
		if sums != all {
			h.fail("%s %s: %+v, want %+v", s.name, s.id, sums, all)
		}
	case outlives && got.SamplesHeld != all.Held, got.SamplesHeld < least.Held, got.SamplesHeld > all.Held, got.CPU < least.CPU, got.CPU > all.CPU:
		h.fail("%s %s: %+v, want %+v to %+v, outlives %t", s.name, s.id, sums, least, all, outlives)
	}
	if got.Earlier != (s.process < h.process) {
		h.fail("%s: earlier %v, want process %d of %d", s.id, got.Earlier, s.process, h.process)
	}
	coverage, complete, known := h.coverage(s)
	if evicted := got.Coverage == store.CoverageEvicted && len(held) < len(h.windows); known && (got.Coverage != coverage && !evicted || got.Complete != complete && !got.Earlier) {
		h.fail("%s: coverage %s, complete %t, want %s, %t", s.id, got.Coverage, got.Complete, coverage, complete)
	}
	if h.IntN(1+len(h.ended)/20) > 0 {
		return // the rest takes its time
	}
	alone := *got
	alone.Above = ""
	again := must[store.SpanList](h)(v.Spans(store.SpanQuery{ID: s.id})).Spans
	if diff := gocmp.Diff([]store.Span{alone}, again); diff != "" {
		h.fail("%s by itself: %s", s.id, diff)
	}
	found := must[*store.Samples](h)(v.Samples(store.Query{Matchers: []store.Matcher{matcher(h.t, "profile_id", store.MatchEqual, s.id)}})).Samples
	if late == (historySums{}) && found != got.SamplesHeld {
		h.fail("%s: %d samples are held, %d found", s.id, got.SamplesHeld, found)
	}
}

// manual returns how many manual exemplars windows have.
func (h *chronicle) manual(windows []*historyWindow) int {
	ids := make(map[string]bool)
	for _, w := range windows {
		for _, r := range w.rows {
			if id := r.labels["profile_id"]; strings.HasPrefix(id, "job ") {
				ids[id] = true
			}
		}
	}
	return len(ids)
}

// checkLists compares filtered, ordered and cut lists with the whole one.
func (h *chronicle) checkLists(v store.View, all []store.Span) {
	h.t.Helper()
	q := store.SpanQuery{Order: pick(h, []store.Order{store.Newest, store.Slowest, store.MostCPU}), Limit: h.IntN(4), OnlyErrors: h.IntN(4) == 0}
	switch h.IntN(5) {
	case 0:
		q.Name = "GET /1"
	case 1:
		q.Service = "billing"
	case 2:
		q.MinDuration = 5 * time.Second
	case 3:
		q.From, q.Until = h.now.Add(-4*step), h.now.Add(-step)
	case 4:
		q.Attributes = []store.Matcher{matcher(h.t, "span.http.route", store.MatchEqual, "/2")}
	}
	value := func(s *store.Span) int64 {
		switch q.Order {
		case store.Slowest:
			if s.Manual {
				return -1
			}
			return int64(s.Duration)
		case store.MostCPU:
			return int64(s.CPU)
		default:
			return s.Start.Add(s.Duration).UnixNano()
		}
	}
	var want []int64
	for i := range all {
		s := &all[i]
		if (q.Name == "" || s.Name == q.Name) && (q.Service == "" || s.Service == q.Service) && (!q.OnlyErrors || s.Err) &&
			(q.MinDuration == 0 || !s.Manual && s.Duration >= q.MinDuration) &&
			(q.From.IsZero() || s.Start.Add(s.Duration).After(q.From) && s.Start.Before(q.Until)) &&
			(len(q.Attributes) == 0 || slices.ContainsFunc(s.Attributes, func(a store.Attribute) bool { return a.Key == "http.route" && a.Value == "/2" })) {
			want = append(want, value(s))
		}
	}
	slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
	if q.Limit > 0 {
		want = want[:min(len(want), q.Limit)]
	}
	var got []int64
	list := must[store.SpanList](h)(v.Spans(q)).Spans
	for _, s := range list {
		got = append(got, value(&s))
	}
	if q.Limit == 0 {
		h.checkAbove(list)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		h.fail("%+v: %s", q, diff)
	}
}

// historyName is the key of sums by name.
type historyName struct{ Service, Name string }

// checkNames compares the sums by name. Spans that ended between the windows that are gone
// may count or not.
func (h *chronicle) checkNames(v store.View, held []*historyWindow) {
	h.t.Helper()
	type sums struct {
		least, most store.NameTotal
	}
	want := make(map[historyName]*sums)
	total := func(service, name string) *sums {
		key := historyName{service, name}
		if want[key] == nil {
			want[key] = &sums{}
		}
		return want[key]
	}
	first := len(h.windows) - len(held)
	for _, s := range h.ended {
		if !s.listed {
			continue
		}
		of := total(s.service, s.name)
		for _, t := range []*store.NameTotal{&of.least, &of.most} {
			if t == &of.least && s.arrived <= first && first > 0 {
				continue
			}
			t.Spans++
			t.Duration += s.end.Sub(s.start)
			t.MaxDuration = max(t.MaxDuration, s.end.Sub(s.start))
			if s.err {
				t.Errors++
			}
		}
	}
	for _, w := range held {
		for _, r := range w.rows {
			if name := r.labels["span_name"]; name != "" && w.kind == exporter.KindCPU {
				of := total(w.service, name)
				of.least.CPU += time.Duration(r.values[1])
				of.least.CPUSamples += r.count
			}
		}
	}
	for _, service := range historyServices {
		of := total(service, "job")
		of.least.Spans = h.manual(slices.DeleteFunc(slices.Clone(held), func(w *historyWindow) bool { return w.service != service }))
		of.most.Spans = of.least.Spans
	}
	for _, got := range must[store.SpanList](h)(v.Spans(store.SpanQuery{Names: true})).Names {
		key := historyName{got.Service, got.Name}
		of := total(got.Service, got.Name)
		least, most := &of.least, &of.most
		if !h.late && (got.CPU != least.CPU || got.CPUSamples != least.CPUSamples) ||
			got.Spans < least.Spans || got.Spans > most.Spans || got.Errors < least.Errors || got.Errors > most.Errors ||
			got.Duration < least.Duration || got.Duration > most.Duration || got.MaxDuration < least.MaxDuration || got.MaxDuration > most.MaxDuration {
			h.fail("%v: %+v, want %+v to %+v", key, got, *least, *most)
		}
		delete(want, key)
	}
	for key, of := range want {
		if of.least.Spans > 0 || of.least.CPU > 0 {
			h.fail("%v is missing, want %+v", key, of.least)
		}
	}
}

// held returns the windows that a store holds: the newest of those that came.
func (h *chronicle) held(v store.View) []*historyWindow {
	h.t.Helper()
	infos := must[[]store.WindowInfo](h)(v.Windows())
	held := h.windows[max(0, len(h.windows)-len(infos)):]
	if len(held) < len(infos) || len(held) < len(h.windows) && h.more == 0 {
		h.fail("%d windows are held, want %d", len(infos), len(h.windows))
	}
	for i, w := range held { // each began at its own time
		got := fmt.Sprint(infos[i].Kind, infos[i].Service, infos[i].Start.UnixNano(), infos[i].Duration, infos[i].Earlier)
		if want := fmt.Sprint(w.kind, w.service, w.start.UnixNano(), step, w.process < h.process); got != want {
			h.fail("window %d: %s, want %s", i, got, want)
		}
	}
	return held
}

// checkStats compares the counts of this process.
func (h *chronicle) checkStats() {
	h.t.Helper()
	s := h.store.Stats()
	var cpu, labelled time.Duration
	for _, w := range h.windows {
		for _, r := range w.rows {
			if w.kind != exporter.KindCPU || w.process != h.process {
				continue
			}
			cpu += time.Duration(r.values[1])
			if r.labels["profile_id"] != "" || r.labels["span_id"] != "" || r.labels["span_name"] != "" {
				labelled += time.Duration(r.values[1])
			}
		}
	}
	if s.SpansEnded != int64(h.recorded) || int64(s.Spans)+s.SpansEvicted+s.SpansNotKept != s.SpansEnded {
		h.fail("%d spans ended, want %d: %d held, %d evicted, %d not kept", s.SpansEnded, h.recorded, s.Spans, s.SpansEvicted, s.SpansNotKept)
	}
	if s.WindowsReceived != int64(h.received) || int64(s.Windows)+s.WindowsEvicted != s.WindowsReceived || s.WindowsRefused+s.ParseErrors != 0 {
		h.fail("%d windows received, want %d: %d held, %d evicted", s.WindowsReceived, h.received, s.Windows, s.WindowsEvicted)
	}
	if s.CPUTime != cpu || s.CPUTimeLabelled != labelled {
		h.fail("%s of CPU, %s labelled, want %s, %s", s.CPUTime, s.CPUTimeLabelled, cpu, labelled)
	}
}
