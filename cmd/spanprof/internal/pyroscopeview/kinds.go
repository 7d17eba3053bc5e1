// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/store"
)

const (
	typeLabel    = "__profile_type__"
	versionLabel = "service_version"
	// maxSeries bounds the services, versions and types of a page.
	maxSeries = 20_000
)

// series is what the server has of a service.
type series struct {
	service, version string
	querier.Type
}

// parseType reads the id of a profile type. It returns false for one that no page shows.
func parseType(id string) (querier.Type, bool) {
	t, ok := querier.ParseType(id)
	return t, ok && !strings.HasPrefix(string(t.Kind), columns.Other)
}

// standard returns the sample type of a kind that a query means which names none.
func standard(kind exporter.Kind) string {
	for _, t := range flameql.Types {
		if t.Kind == kind && t.SampleType != "" {
			return t.SampleType
		}
	}
	return "samples"
}

// series returns what the server has in the time of the view, by service, version and
// type.
func (v *view) series() ([]series, error) {
	if v.held != nil {
		return v.held, nil
	}
	from, until := around(v.from, v.until)
	sets, err := v.client.Series(v.ctx, "", []string{serviceName, versionLabel, typeLabel}, from, until)
	if err != nil {
		return nil, err
	}
	if len(sets) > maxSeries {
		return nil, fmt.Errorf("%s has %d services, versions and types, and a page takes %d: ask for less time", v.client, len(sets), maxSeries)
	}
	v.held = []series{}
	for _, set := range sets {
		if t, ok := parseType(set[typeLabel]); ok {
			v.held = append(v.held, series{set[serviceName], set[versionLabel], t})
		}
	}
	slices.SortFunc(v.held, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.version, b.version), cmp.Compare(a.ID, b.ID))
	})
	return v.held, nil
}

// typesOf returns the profile types of a kind, of one service or, where service is empty,
// of all.
func (v *view) typesOf(kind exporter.Kind, service string) ([]querier.Type, error) {
	all, err := v.series()
	if err != nil {
		return nil, err
	}
	var types []querier.Type
	for _, s := range all {
		// There are few types, of many services.
		if s.Kind == kind && (service == "" || s.service == service) && !slices.Contains(types, s.Type) {
			types = append(types, s.Type)
		}
	}
	return types, nil
}

// sampleTypes returns the profile types of a kind with a sample type. The error means that
// there are only others.
func (v *view) sampleTypes(kind exporter.Kind, sample, service string) ([]querier.Type, error) {
	all, err := v.typesOf(kind, service)
	if err != nil {
		return nil, err
	}
	var names []string
	types := slices.DeleteFunc(slices.Clone(all), func(t querier.Type) bool {
		if !slices.Contains(names, t.Sample) {
			names = append(names, t.Sample)
		}
		return t.Sample != sample
	})
	if len(types) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("%s profiles: %w %q: the server has %q", kind, store.ErrUnknownSampleType, sample, names)
	}
	return types, nil
}

// standardTypes returns the profile types of a kind with the sample type that a query
// means which names none; none if there are others alone.
func (v *view) standardTypes(kind exporter.Kind, service string) ([]querier.Type, error) {
	types, err := v.sampleTypes(kind, standard(kind), service)
	if errors.Is(err, store.ErrUnknownSampleType) {
		return nil, nil
	}
	return types, err
}

// Windows implements store.View. A server does not tell its profiles: a window is all that
// it has of one service, version and kind.
func (v *view) Windows() ([]store.WindowInfo, error) {
	all, err := v.series()
	if err != nil {
		return nil, err
	}
	var windows []store.WindowInfo
	for _, s := range all {
		windows = append(windows, store.WindowInfo{Kind: s.Kind, Service: s.service, ServiceVersion: s.version, Start: v.from, Duration: v.until.Sub(v.from)})
	}
	// They come by service, kind and version.
	return slices.Compact(windows), nil
}

// kindSums answers a query without a kind. The number of samples is unknown: it is 1 if
// there are any.
func (v *view) kindSums(q store.Query) (*store.Samples, error) {
	answer := &store.Samples{}
	c, err := v.conditionsOf(q.Matchers)
	if err != nil || c.none {
		return answer, err
	}
	all, err := v.series()
	if err != nil {
		return nil, err
	}
	from, until := v.times(q.From, q.Until)
	var kinds []exporter.Kind
	add := func(kind exporter.Kind) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case c.ids:
		if kinds, err = v.kindsOfIDs(c, q); err != nil {
			return nil, err
		}
	case c.simple:
		for _, s := range all {
			if c.service == "" || s.service == c.service {
				add(s.Kind)
			}
		}
	default:
		sets, err := v.client.Series(v.ctx, c.labels, []string{typeLabel}, from, until)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			if t, ok := parseType(set[typeLabel]); ok {
				add(t.Kind)
			}
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		answer.Sums = append(answer.Sums, store.Sum{Kind: kind, Samples: 1})
	}
	return answer, nil
}

// kindsOfIDs returns the kinds with samples of some spans or traces.
func (v *view) kindsOfIDs(c conditions, q store.Query) (kinds []exporter.Kind, err error) {
	for _, kind := range []exporter.Kind{exporter.KindCPU, exporter.KindGoroutine, exporter.KindWall} {
		types, err := v.standardTypes(kind, c.service)
		if err != nil {
			return nil, err
		}
		total, err := v.totalOf(types, c, q)
		if err != nil {
			return nil, err
		}
		if total != 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// totalOf returns the sum of what a query selects of some profile types.
func (v *view) totalOf(types []querier.Type, c conditions, q store.Query) (total int64, err error) {
	for _, t := range types {
		n, err := v.total(v.selectorOf(t, c, q.From, q.Until))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// total returns the sum of what a selector selects, from its samples if they are here.
func (v *view) total(s querier.Selector) (int64, error) {
	if m, ok := v.merges[key(s)]; ok {
		return m.total, nil
	}
	return v.client.Total(v.ctx, s)
}
