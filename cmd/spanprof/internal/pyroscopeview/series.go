// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

const (
	// maxSteps is about how many steps a time line has, leastStep how long they are at
	// least: profiles begin every ten or fifteen seconds.
	maxSteps  = 100
	leastStep = 15 * time.Second
	// maxNames bounds the names of the list of names.
	maxNames = 500
)

// Timeline implements store.View.
func (v *view) Timeline(q store.Query, n int) (*store.Timeline, error) {
	c, err := v.conditionsOf(q.Matchers)
	if err != nil {
		return nil, err
	}
	if c.ids {
		return nil, fmt.Errorf("%w: a Pyroscope server has no time line of spans and traces", store.ErrUnsupported)
	}
	sample := cmp.Or(q.SampleType, standard(q.Kind))
	types, err := v.sampleTypes(q.Kind, sample, "")
	if err != nil {
		return nil, err
	}
	line := &store.Timeline{SampleType: sample, Momentary: momentary(sample)}
	if len(types) == 0 {
		return line, nil
	}
	line.Unit = types[0].unit
	from, until := v.times(q.From, q.Until)
	from, until, step := steps(from, until, max(1, min(maxSteps, int(until.Sub(from)/leastStep))))
	s := querier.Selector{Type: types[0].id, Labels: c.labels, From: from, Until: until}
	if len(types) > 1 {
		v.note("of several profile types of this kind, the time line has " + types[0].id)
	}
	var named, all []querier.Points
	for range 2 {
		if err := v.call(); err != nil {
			return nil, err
		}
	}
	err = group(func() (err error) {
		named, err = v.client.SelectSeries(v.ctx, s, []string{labelkey.SpanName}, step, n+1, line.Momentary)
		return err
	}, func() (err error) {
		all, err = v.client.SelectSeries(v.ctx, s, nil, step, 0, line.Momentary)
		return err
	})
	if err != nil {
		return nil, err
	}
	fill(line, named, all, from, step, n)
	return line, nil
}

// steps cuts a time into n steps of whole milliseconds, as the server has them. It leaves
// out what is not a whole step.
func steps(from, until time.Time, n int) (start, end time.Time, step time.Duration) {
	from = from.Truncate(time.Millisecond)
	step = max(time.Millisecond, (until.Sub(from)/time.Duration(n) + time.Millisecond).Truncate(time.Millisecond))
	return from, from.Add(time.Duration(n) * step), step
}

// fill makes the buckets of a time line from what it is by name, and in all.
func fill(line *store.Timeline, named, all []querier.Points, from time.Time, step time.Duration, n int) {
	// A point is the step that ends at its time. The server gives one more, the step
	// that ends at from.
	place := func(t time.Time) int { return int((t.Sub(from)+step-time.Millisecond)/step) - 1 }
	for _, series := range all {
		for _, p := range series.Points {
			at := place(p.Time)
			if at < 0 || at > 2*maxSteps {
				continue // It is not of the time that was asked for.
			}
			for i := len(line.Buckets); i <= at; i++ {
				line.Buckets = append(line.Buckets, store.TimelineBucket{Start: from.Add(time.Duration(i) * step), Duration: step})
			}
			line.Buckets[at].Rest += int64(p.Value)
		}
	}
	named = slices.DeleteFunc(named, func(p querier.Points) bool { return p.Labels[labelkey.SpanName] == "" })
	slices.SortStableFunc(named, func(a, b querier.Points) int { return cmp.Compare(sum(b, from), sum(a, from)) })
	named = named[:min(n, len(named))]
	for i := range line.Buckets {
		line.Buckets[i].Values = make([]int64, len(named))
	}
	for i, series := range named {
		line.Names = append(line.Names, series.Labels[labelkey.SpanName])
		for _, p := range series.Points {
			if at := place(p.Time); at >= 0 && at < len(line.Buckets) {
				line.Buckets[at].Values[i] += int64(p.Value)
				line.Buckets[at].Rest = max(0, line.Buckets[at].Rest-int64(p.Value))
			}
		}
	}
}

// sum returns the sum of the points after a time.
func sum(p querier.Points, from time.Time) (sum float64) {
	for _, point := range p.Points {
		if point.Time.After(from) {
			sum += point.Value
		}
	}
	return sum
}

// NameTotals implements store.View. The number of spans is not known.
func (v *view) NameTotals() ([]store.NameTotal, error) {
	if v.names != nil {
		return v.names, nil
	}
	types, err := v.standardTypes(exporter.KindCPU, "")
	if err != nil || len(types) == 0 {
		return nil, err
	}
	if err := v.call(); err != nil {
		return nil, err
	}
	from, until, step := steps(v.from, v.until, 1) // One step has all of it.
	s := querier.Selector{Type: types[0].id, Labels: "{}", From: from, Until: until}
	all, err := v.client.SelectSeries(v.ctx, s, []string{serviceName, labelkey.SpanName}, step, maxNames, false)
	if err != nil {
		return nil, err
	}
	if len(all) >= maxNames {
		v.note(fmt.Sprintf("the list of names has the %d with most CPU time", maxNames))
	}
	v.names = []store.NameTotal{}
	for _, p := range all {
		name := p.Labels[labelkey.SpanName]
		if name == "" {
			continue
		}
		v.names = append(v.names, store.NameTotal{Service: p.Labels[serviceName], Name: name, Label: name, CPU: time.Duration(sum(p, from)), CPUSamples: 1})
	}
	slices.SortFunc(v.names, func(a, b store.NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return v.names, nil
}
