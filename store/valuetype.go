// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// ErrUnknownSampleType is returned by [Store.Select] and [Store.Profile] for a
// SampleType that no profile held of the kind has.
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

func (h *held) sampleTypes(kind exporter.Kind) []string {
	return typeNames(typesOf(h.windows, kind))
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
