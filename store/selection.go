// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/frames"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// Selection is the answer to a Query: the samples that matched, summed by
// stack. It is a snapshot: it does not change when more profiles arrive.
type Selection struct {
	// Kind and SampleType say what Values measure, Unit in what: "cpu" in
	// "nanoseconds".
	Kind       exporter.Kind
	SampleType string
	Unit       string
	// Stacks are the distinct stacks, in an order that is the same whenever the
	// same profiles are asked.
	Stacks []StackValue
	// Total is the sum of all values, Samples the number of samples (for
	// heap: of distinct allocation sites).
	Total   int64
	Samples int64
	// ProfileIDs is the number of different profile_id values among the
	// samples.
	ProfileIDs int
	// SpanNames are the different values of span_name among the samples, in
	// alphabetical order, "" where samples have none. Of more than 16, the
	// first to be found are there.
	SpanNames []string
	// From and Until bound the windows that were looked at, Windows is
	// their number.
	From, Until time.Time
	Windows     int
	// Looks are the intervals at which a profiler of package profiler looked at
	// goroutines in the windows with any of the samples, and the times in which
	// nobody looked in all windows of the same services; nil for other kinds and
	// other profilers. LooksLength is the sum of the lengths of these windows.
	Looks       *Looks
	LooksLength time.Duration
}

// Looks are the intervals between the looks that wall profiles are made of.
type Looks = looks.Looks

// StackValue is a stack and the sum of its samples.
type StackValue struct {
	Stack *Stack
	Value int64
}

// maxSpanNames bounds SpanNames of a selection.
const maxSpanNames = 16

func (v *view) Select(q Query) (*Selection, error) {
	f, err := v.find(q)
	if err != nil {
		return nil, err
	}
	selection := &Selection{
		Kind:       q.Kind,
		SampleType: f.selected.Name,
		Unit:       f.selected.Unit,
		Windows:    len(f.windows),
	}
	selection.From, selection.Until = f.bounds()
	selection.Looks, selection.LooksLength = f.looks()
	// sums are in the order in which their leaves are found, which is the same for
	// the same windows: the number of a leaf is the place of its sum.
	var (
		leaves []frames.ID
		sums   []int64
	)
	numbers := v.code.frames.Numbers()
	names := make(map[string]struct{})
	var profiles []ident.Key
	texts := make(map[string]struct{})
	for i := range f.matches {
		w := f.matches[i].window
		column := f.column(w, f.selected)
		if column < 0 {
			continue
		}
		for g := range f.matches[i].Groups() {
			if profile, _ := g.Spans(); profile != 0 {
				profiles = append(profiles, profile)
			} else if id := g.ProfileID(); id != "" {
				texts[id] = struct{}{}
			}
			before := selection.Samples
			first, last := g.Bounds()
			for i := first; i < last; i++ {
				value := w.Value(i, column)
				if value == 0 {
					continue
				}
				leaf := w.leaf(i)
				number, isNew := numbers.Of(leaf)
				if isNew {
					leaves, sums = append(leaves, leaf), append(sums, 0)
				}
				sums[number] += value
				selection.Total += value
				selection.Samples += w.CountOf(i)
			}
			if selection.Samples > before && len(names) < maxSpanNames {
				names[g.Labels().SpanName()] = struct{}{}
			}
		}
	}
	slices.Sort(profiles)
	selection.ProfileIDs = len(slices.Compact(profiles)) + len(texts)
	selection.SpanNames = slices.Sorted(maps.Keys(names))
	selection.Stacks = make([]StackValue, len(leaves))
	for i, leaf := range leaves {
		if v.ended() {
			break
		}
		selection.Stacks[i] = StackValue{Stack: v.code.stack(leaf), Value: sums[i]}
	}
	if q.Kind == exporter.KindHeap {
		selection.Samples = int64(len(selection.Stacks))
	}
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	return selection, nil
}
