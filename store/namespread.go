// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/bits"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Measured is implemented by the views of a source that knows how long each span took,
// such as a Store. The answers agree with those of the [View].
type Measured interface {
	// NameSpreads sums the spans with a record that have ended and that q selects, by
	// service and name, and tells how their times are spread; in no order. Order, Limit,
	// Running and Requests of q do not count.
	NameSpreads(q SpanQuery) ([]NameSpread, error)
	// LabelTotals returns the value that q selects by service and by the label
	// span_name, "" for samples without one; in no order. It is not for values that
	// describe a moment. The error is as in Select.
	LabelTotals(q Query) ([]LabelTotal, error)
}

var _ Measured = (*view)(nil)

// NameSpread is the sum of the spans of one name in one service that have a record, and how
// their times are spread.
type NameSpread struct {
	Service, Name string
	// Label is the span_name label of samples of one of them, as in NameTotal.
	Label string
	// Spans is their number, Errors of those with the status Error. Manual exemplars
	// have no wall clock: Durations counts those that have.
	Spans, Errors int
	Duration, CPU time.Duration
	// CPUInclusive adds the CPU time of the spans below them in this process. A span
	// below one of its own name counts once.
	CPUInclusive time.Duration
	// Durations are the spans' wall clocks, CPUs the CPU time of each with that of the
	// spans below it.
	Durations, CPUs Spread
}

// Spread is how times are spread.
type Spread struct {
	Count         int
	P50, P95, Max time.Duration
	// Octaves counts the times from 2^i up to 2^(i+1) nanoseconds at i; the first also
	// those of 0.
	Octaves []int
}

// LabelTotal is the value of the samples with one span_name label in one service.
type LabelTotal struct {
	Service, Label string
	Value          int64
}

// newSpread sorts times.
func newSpread(times []int64) Spread {
	s := Spread{Count: len(times)}
	if s.Count == 0 {
		return s
	}
	slices.Sort(times)
	// The smallest time that so many percent do not exceed.
	quantile := func(percent int) time.Duration {
		return time.Duration(times[(len(times)*percent+99)/100-1])
	}
	s.P50, s.P95, s.Max = quantile(50), quantile(95), quantile(100)
	s.Octaves = make([]int, octave(times[len(times)-1])+1)
	for _, t := range times {
		s.Octaves[octave(t)]++
	}
	return s
}

func octave(t int64) int { return bits.Len64(uint64(max(t, 1))) - 1 }

// spreading is what a name's spans are gathered in.
type spreading struct {
	NameSpread
	durations, cpus []int64
}

// namedNode is a span for questions about names above it. name is nil where the span is not
// selected.
type namedNode struct {
	parent ident.Key
	root   bool
	name   *spanlog.Name
	cpu    time.Duration
}

func (v *view) NameSpreads(q SpanQuery) ([]NameSpread, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	if err := v.payAttributes(q.Attributes); err != nil {
		return nil, err
	}
	q.Running, q.Requests, q.Limit = false, false, 0
	filter := newSpanFilter(&q, v)
	below := v.tree(filter)
	names := make(map[spanlog.NameKey]*spreading)
	of := func(key spanlog.NameKey) *spreading {
		s := names[key]
		if s == nil {
			s = &spreading{NameSpread: NameSpread{Service: key.Service, Name: key.Value}}
			names[key] = s
		}
		return s
	}
	// Where only local roots have records, no span is below another one.
	nested := v.spans.Totals.Inner > 0
	var nodes map[ident.Key]*namedNode
	if nested {
		nodes = make(map[ident.Key]*namedNode)
	}
	v.spans.Each(func(*spanlog.Row) bool { return !v.ended() }, func(r *spanlog.Record) {
		if !filter.matches(r) || !below.lists(r) {
			return
		}
		s := of(r.Name.NameKey)
		s.Spans++
		if r.Err {
			s.Errors++
		}
		if s.Label == "" && r.Label != nil {
			s.Label = r.Label.String()
		}
		s.Duration += time.Duration(r.Duration)
		s.CPU += r.CPU
		s.durations = append(s.durations, r.Duration)
		s.cpus = append(s.cpus, int64(r.CPU+r.Below))
		if nested {
			nodes[ident.NewKey(r.SpanID)] = &namedNode{parent: ident.NewKey(r.ParentID), root: r.LocalRoot || !r.ParentID.IsValid(), name: r.Name, cpu: r.CPU + r.Below}
		} else {
			s.CPUInclusive += r.CPU + r.Below
		}
	})
	for _, n := range nodes {
		if v.ended() {
			break
		}
		if n.name != nil && !v.belowItsName(nodes, n) {
			of(n.name.NameKey).CPUInclusive += n.cpu
		}
	}
	exemplars, err := v.exemplarRows(filter)
	if err != nil {
		return nil, err
	}
	for _, row := range exemplars {
		s := of(spanlog.NameKey{Service: row.exemplar.Service, Value: row.exemplar.Name})
		s.Spans++
		s.CPU += row.exemplar.CPU
		s.CPUInclusive += row.exemplar.CPU
		s.cpus = append(s.cpus, int64(row.exemplar.CPU))
		if s.Label == "" {
			s.Label = row.exemplar.Label
		}
	}
	list := make([]NameSpread, 0, len(names))
	for _, s := range names {
		if v.ended() {
			break
		}
		s.Durations, s.CPUs = newSpread(s.durations), newSpread(s.cpus)
		list = append(list, s.NameSpread)
	}
	return list, v.ctx.Err()
}

// belowItsName reports whether a selected span of the same name is above one.
func (v *view) belowItsName(nodes map[ident.Key]*namedNode, n *namedNode) bool {
	name := n.name.NameKey
	for range maxDepth {
		if n.root {
			return false
		}
		key := n.parent
		if n = nodes[key]; n == nil {
			// One that is not selected may still be between two that are.
			r, ok := v.spans.Find(key)
			if !ok {
				return false
			}
			n = &namedNode{parent: ident.NewKey(r.ParentID), root: r.LocalRoot || !r.ParentID.IsValid()}
			nodes[key] = n
			continue
		}
		if n.name != nil && n.name.NameKey == name {
			return true
		}
	}
	return false
}

func (v *view) LabelTotals(q Query) ([]LabelTotal, error) {
	f, err := v.find(q)
	if err != nil {
		return nil, err
	}
	totals := make(map[spanlog.NameKey]int64)
	bySet := make(map[*samples.LabelSet]string)
	var values []int64
	for i := range f.matches {
		if v.ended() {
			break
		}
		m := &f.matches[i]
		column := m.window.Column(f.selected)
		if column < 0 {
			continue
		}
		values = m.AppendSums(values[:0], column)
		for j, value := range values {
			if v.ended() {
				break
			}
			if value == 0 {
				continue
			}
			set := m.window.LabelsOf(j)
			label, ok := bySet[set]
			if !ok {
				label = set.SpanName()
				bySet[set] = label
			}
			totals[spanlog.NameKey{Service: m.window.Service, Value: label}] += value
		}
	}
	list := make([]LabelTotal, 0, len(totals))
	for key, value := range totals {
		list = append(list, LabelTotal{Service: key.Service, Label: key.Value, Value: value})
	}
	return list, v.ctx.Err()
}
