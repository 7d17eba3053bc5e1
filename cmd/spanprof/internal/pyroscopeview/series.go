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

// maxNames bounds the names of the list of names.
const maxNames = 500

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
	from := v.from.Truncate(time.Millisecond)
	step := (v.until.Sub(from) + time.Millisecond).Truncate(time.Millisecond) // One step has all of it.
	s := querier.Selector{Type: types[0].ID, Labels: "{}", From: from, Until: from.Add(step)}
	all, err := v.client.SelectSeries(v.ctx, s, []string{serviceName, labelkey.SpanName}, step, maxNames)
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
