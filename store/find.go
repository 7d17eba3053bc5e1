// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// found is what a Query found: immutable data, to be read without a lock.
type found struct {
	// windows are those of the kind that overlap the query's time, after what
	// is kept of older ones and matches.
	windows []*window
	matches []match
	// types are the value types of the kind in all windows held, those of
	// the newest window first, and selected is the one of the query.
	types    []valueType
	selected valueType
	// newest is the latest window of each service that has any of the matches.
	newest map[string]*window
}

// find answers q. The error is about its SampleType.
func (h *held) find(q Query) (found, error) {
	all := slices.Concat(h.kept, h.windows)
	f := found{types: typesOf(all, q.Kind), newest: make(map[string]*window)}
	if len(f.types) == 0 {
		f.selected.name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(f.types, defaultType(all, q.Kind), q); err != nil {
		return found{}, err
	}
	f.matches = q.matches(ofKind(h.kept, q.Kind), ofKind(h.windows, q.Kind))
	for i := range f.matches {
		w := f.matches[i].window
		if newest := f.newest[w.service]; newest == nil || !w.end.Before(newest.end) {
			f.newest[w.service] = w
		}
	}
	f.windows = keptOf(f.matches)
	for _, w := range h.windows {
		if w.kind == q.Kind && w.overlaps(q.From, q.Until) {
			f.windows = append(f.windows, w)
		}
	}
	return f, nil
}

func ofKind(windows []*window, kind exporter.Kind) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		for _, w := range windows {
			if w.kind == kind && !yield(w) {
				return
			}
		}
	}
}

// keptOf returns what is kept of windows that are gone.
func keptOf(matches []match) []*window {
	var kept []*window
	for i := range matches {
		if w := matches[i].window; w.kept {
			kept = append(kept, w)
		}
	}
	return kept
}

// column returns where a window has the values of a type, -1 where it has none
// that count.
func (f *found) column(w *window, t valueType) int {
	if t.momentary() && f.newest[w.service] != w {
		return -1
	}
	return w.column(t)
}

// bounds returns the time that the windows span.
func (f *found) bounds() (from, until time.Time) {
	for i, w := range f.windows {
		if i == 0 || w.start.Before(from) {
			from = w.start
		}
		if i == 0 || w.end.After(until) {
			until = w.end
		}
	}
	return from, until
}

// ErrUnknownSampleType is returned by Select, Profile and Timeline of a
// [View] for a SampleType that no profile held of the kind has.
var ErrUnknownSampleType = errors.New("unknown sample type")

// valueType is what a value measures, and in what unit.
type valueType struct {
	name, unit string
}

// momentary says that a value describes the end of its window, so that those
// of several windows must not be added: what was live then, in heap profiles, and
// the goroutines that there were.
func (t valueType) momentary() bool {
	return strings.HasPrefix(t.name, "inuse_") || t.name == "goroutine"
}

// timeUnit returns 0 for a unit that is not one of time.
func timeUnit(unit string) time.Duration {
	switch unit {
	case "nanoseconds":
		return time.Nanosecond
	case "microseconds":
		return time.Microsecond
	case "milliseconds":
		return time.Millisecond
	case "seconds":
		return time.Second
	default:
		return 0
	}
}

func typesOf(windows []*window, kind exporter.Kind) []valueType {
	var types []valueType
	for _, w := range slices.Backward(windows) {
		if w.kind != kind {
			continue
		}
		for _, t := range w.types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}

func typeNames(types []valueType) []string {
	var names []string
	for _, t := range types {
		if !slices.Contains(names, t.name) {
			names = append(names, t.name)
		}
	}
	return names
}

// defaultType returns the name of the type to show: the one that the newest
// profile names, or its last one, as pprof does.
func defaultType(windows []*window, kind exporter.Kind) string {
	for _, w := range slices.Backward(windows) {
		if w.kind != kind || len(w.types) == 0 {
			continue
		}
		if slices.ContainsFunc(w.types, func(t valueType) bool { return t.name == w.defaultType }) {
			return w.defaultType
		}
		return w.types[len(w.types)-1].name
	}
	return ""
}

func selectType(types []valueType, standard string, q Query) (valueType, error) {
	name := q.SampleType
	if name == "" {
		name = standard
	}
	i := slices.IndexFunc(types, func(t valueType) bool { return t.name == name })
	if i < 0 {
		return valueType{}, fmt.Errorf("store: %s profiles: %w %q: use one of %s", q.Kind, ErrUnknownSampleType, name, strings.Join(typeNames(types), ", "))
	}
	return types[i], nil
}
