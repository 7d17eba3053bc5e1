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
	// maxNames bounds the names of the list of names, maxLineNames of a time line.
	maxNames     = 500
	maxLineNames = 7
)

// steps answers a query over time, by the span_names with the most of it.
func (v *view) steps(q store.Query) (*store.Samples, error) {
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
	answer := &store.Samples{Kind: q.Kind, SampleType: sample, Momentary: querier.Type{Kind: q.Kind, Sample: sample}.Momentary()}
	if len(types) == 0 {
		return answer, nil
	}
	answer.Unit = types[0].Unit
	from, until := v.times(q.From, q.Until)
	from, until, step := cut(from, until, max(1, min(maxSteps, int(until.Sub(from)/leastStep))))
	answer.Step = step
	s := querier.Selector{Type: types[0].ID, Labels: c.labels, From: from, Until: until}
	if len(types) > 1 {
		v.note("of several profile types of this kind, the time line has " + types[0].ID)
	}
	var named, all []querier.Points
	err = group(func() (err error) {
		named, err = v.client.SelectSeries(v.ctx, s, []string{labelkey.SpanName}, step, maxLineNames, answer.Momentary)
		return err
	}, func() (err error) {
		all, err = v.client.SelectSeries(v.ctx, s, nil, step, 0, answer.Momentary)
		return err
	})
	if err != nil {
		return nil, err
	}
	fill(answer, q.Labels, named, all, from)
	return answer, nil
}

// cut cuts a time into n steps of whole milliseconds, as the server has them. It leaves
// out what is not a whole step.
func cut(from, until time.Time, n int) (start, end time.Time, step time.Duration) {
	from = from.Truncate(time.Millisecond)
	step = max(time.Millisecond, (until.Sub(from)/time.Duration(n) + time.Millisecond).Truncate(time.Millisecond))
	return from, from.Add(time.Duration(n) * step), step
}

// fill adds the sums of each step by name, and the rest of all without one.
func fill(answer *store.Samples, labels []string, named, all []querier.Points, from time.Time) {
	values := func(name string) []string {
		list := make([]string, len(labels))
		if i := slices.Index(labels, labelkey.SpanName); i >= 0 {
			list[i] = name
		}
		return list
	}
	type step struct {
		rest int64
		sums []store.Sum
	}
	var steps []step
	// A point is the step that ends at its time. The server returns one more, the step
	// that ends at from.
	place := func(t time.Time) int { return int((t.Sub(from)+answer.Step-time.Millisecond)/answer.Step) - 1 }
	for _, series := range all {
		for _, p := range series.Points {
			at := place(p.Time)
			if at < 0 || at > 2*maxSteps {
				continue // it is not in the time of the query
			}
			for len(steps) <= at {
				steps = append(steps, step{})
			}
			steps[at].rest += int64(p.Value)
		}
	}
	for _, series := range named {
		name := series.Labels[labelkey.SpanName]
		for _, p := range series.Points {
			if at := place(p.Time); name != "" && at >= 0 && at < len(steps) {
				to := &steps[at]
				to.sums = append(to.sums, store.Sum{Kind: answer.Kind, Labels: values(name), Value: int64(p.Value)})
				to.rest = max(0, to.rest-int64(p.Value))
			}
		}
	}
	for i, s := range steps {
		for _, sum := range append(s.sums, store.Sum{Kind: answer.Kind, Labels: values(""), Value: s.rest}) {
			sum.Start = from.Add(time.Duration(i) * answer.Step)
			answer.Sums = append(answer.Sums, sum)
			answer.Total += sum.Value
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

// nameTotals returns the CPU time by name. The number of spans is unknown.
func (v *view) nameTotals() ([]store.NameTotal, error) {
	if v.names != nil {
		return v.names, nil
	}
	types, err := v.standardTypes(exporter.KindCPU, "")
	if err != nil || len(types) == 0 {
		return nil, err
	}
	from, until, step := cut(v.from, v.until, 1) // One step has all of it.
	s := querier.Selector{Type: types[0].ID, Labels: "{}", From: from, Until: until}
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
