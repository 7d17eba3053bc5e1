// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// maxSpanNames bounds the names of an answer.
const maxSpanNames = 16

// ErrUnknownType is the cause of errors about a type that no profile of the kind has.
var ErrUnknownType = errors.New("unknown sample type")

// Query selects rows, and how they are summed.
type Query struct {
	Kind exporter.Kind
	// Type is the column to sum, "" for the default.
	Type     string
	Matchers []Matcher
	// From and Until select the windows that overlap that time, in nanoseconds since
	// 1970. An Until of 0 means no end.
	From, Until int64
	// Stacks sums by stack. Without it, By sums by labels that are no ids, and Windows by
	// the start of the window.
	Stacks  bool
	By      []string
	Windows bool
}

// Answer is the sums of a query.
type Answer struct {
	// Types are the types of the kind. Type is the type of the values.
	Types []ValueType
	Type  ValueType
	// Sums are in the order in which they were found. Labels has the values of By.
	Sums   []Sum
	Labels [][]string
	// Total and Samples are the sums of all.
	Total, Samples int64
	// Held is the number of windows in the time of the query, and of older ones with
	// matches. From and Until bound Held.
	Held        int
	From, Until int64
	// ProfileIDs is the number of different values of profile_id. Names are the values of
	// span_name, at most 16. Both are of queries with Stacks.
	ProfileIDs int
	Names      []string
	// Looks are the intervals between the samples of wall profiles, nil if unknown.
	Looks *looks.Looks

	code *Segment
}

// Sum is one sum of an answer.
type Sum struct {
	Stack          uint32 // 0 for none, see Stack
	Labels         uint32 // in Labels, without Stacks
	Start          int64  // of the window, if the query has Windows
	Value, Samples int64
}

// Samples answers a query. It returns the error of the context if that ends first.
func (v *View) Samples(ctx context.Context, q *Query) (*Answer, error) {
	a := &Answer{code: newSegment()}
	if err := v.setType(a, q); err != nil {
		return nil, err
	}
	windows, err := v.find(ctx, q)
	if err != nil {
		return nil, err
	}
	current := newest(windows)
	b := adder{
		answer: a, query: q, texts: make(map[string]bool), names: make(map[string]bool),
	}
	for i := range windows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &windows[i]
		if a.Held == 0 || f.start < a.From {
			a.From = f.start
		}
		a.Held++
		a.Until = max(a.Until, f.end)
		column := slices.Index(f.types, a.Type)
		if !f.matches || column < 0 || a.Type.Momentary() && !q.Windows && current[f.name()] != f {
			continue
		}
		b.add(f, column)
	}
	b.flush()
	slices.Sort(b.ids)
	a.ProfileIDs, a.Names = len(union(append(b.sorted, slices.Compact(b.ids))))+len(b.texts), slices.Sorted(maps.Keys(b.names))
	a.Looks = looksOf(windows)
	return a, nil
}

// looksOf returns the intervals between the samples of the windows with matches. The windows
// next to them count too, because a span may begin or end there. It returns nil without any.
func looksOf(windows []found) (all *looks.Looks) {
	before := make(map[string]*found) // the last one of each service
	merged := make(map[*found]bool)
	for i := range windows {
		f := &windows[i]
		if f.looks == nil {
			continue
		}
		last := before[f.name()]
		before[f.name()] = f
		if !f.matches && (last == nil || !last.matches) {
			continue
		}
		for _, near := range []*found{last, f} {
			if near != nil && !merged[near] {
				merged[near] = true
				if all == nil {
					all = new(looks.Looks)
				}
				all.Merge(near.looks)
			}
		}
	}
	return all
}

// find returns the windows of a query. Of the kept ones it returns only those with matches.
func (v *View) find(ctx context.Context, q *Query) (list []found, err error) {
	cache := make(map[*Matcher]map[ident.Key]bool)
	spans := func(m *Matcher) map[ident.Key]bool {
		if cache[m] == nil {
			cache[m] = v.SpansOf(ctx, m)
		}
		return cache[m]
	}
	segments := v.segments
	if slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.OnSpan() || m.ListsIDs() }) {
		segments = v.whole
	}
	onService := slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.label == serviceName || m.label == serviceVersion })
	until := cmp.Or(q.Until, math.MaxInt64)
	for _, s := range segments {
		matches := make(map[[2]string]*match) // by resource, if the query is about it
		for _, w := range s.windows {
			if w.kind != q.Kind && q.Kind != "" || !w.overlaps(q.From, until) {
				continue
			}
			var resource [2]string
			if onService {
				resource = w.resource()
			}
			if matches[resource] == nil {
				matches[resource] = v.match(ctx, s, w, q.Matchers, spans)
			}
			f := found{window: w, of: s, match: matches[resource]}
			if f.matches = f.some(); f.matches || s != v.kept {
				list = append(list, f)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Kinds returns the samples of each kind that a query without one selects.
func (v *View) Kinds(ctx context.Context, q *Query) (map[exporter.Kind]int64, error) {
	windows, err := v.find(ctx, q)
	totals := make(map[exporter.Kind]int64)
	for i := range windows {
		f := &windows[i]
		if f.match.is == nil {
			totals[f.kind] += f.samples
			continue
		}
		for row := range f.rows() {
			totals[f.kind] += f.count(row)
		}
	}
	return totals, err
}

// newest returns the latest window with matches of each service. Segments of earlier processes
// are in the order of these: a clock may be set back.
func newest(windows []found) map[string]*found {
	latest := make(map[string]*found)
	for i := range windows {
		f := &windows[i]
		if !f.matches {
			continue
		}
		if l := latest[f.name()]; l == nil || l.of.earlier && l.of != f.of || f.end >= l.end {
			latest[f.name()] = f
		}
	}
	return latest
}

// setType finds the types of the kind. The types of the newest window are first.
func (v *View) setType(a *Answer, q *Query) error {
	standard := ""
	for _, s := range slices.Backward(v.whole) {
		for _, w := range slices.Backward(s.windows) {
			if w.kind != q.Kind || len(w.types) == 0 {
				continue
			}
			if len(a.Types) == 0 {
				standard = w.types[len(w.types)-1].Name
				if w.column(w.standard) >= 0 {
					standard = w.standard
				}
			}
			for _, t := range w.types {
				if !slices.Contains(a.Types, t) {
					a.Types = append(a.Types, t)
				}
			}
		}
	}
	a.Type.Name = cmp.Or(q.Type, standard)
	var names []string
	for _, t := range slices.Backward(a.Types) {
		if t.Name == a.Type.Name {
			a.Type = t
		}
		names = append(names, t.Name)
	}
	if len(a.Types) > 0 && !slices.Contains(names, a.Type.Name) {
		slices.Sort(names)
		return fmt.Errorf("%s profiles: %w %q: use one of %s", q.Kind, ErrUnknownType, q.Type, strings.Join(slices.Compact(names), ", "))
	}
	return nil
}
