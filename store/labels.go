// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"strconv"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// The labels that name spans; they are kept apart from the others.
const (
	profileIDLabel = labelkey.ProfileID
	spanIDLabel    = labelkey.SpanID
	traceIDLabel   = labelkey.TraceID
	spanNameLabel  = labelkey.SpanName
)

// The labels that stand for the profile's resource.
const (
	serviceNameLabel    = "service_name"
	serviceVersionLabel = "service_version"
)

// labelSet holds the labels of samples except the ids, sorted by key.
type labelSet struct {
	labels []label
}

// label is a string label, or a numeric one with its unit.
type label struct {
	key, value, unit string
	num              int64
	numeric          bool
}

// get returns the value of the first label of that key, a number in decimal;
// "" where there is none.
func (s *labelSet) get(key string) string {
	value, _ := s.lookup(key)
	return value
}

// lookup is get, and says whether there is such a label.
func (s *labelSet) lookup(key string) (string, bool) {
	for _, l := range s.labels {
		if l.key != key {
			continue
		}
		if l.numeric {
			return strconv.FormatInt(l.num, 10), true
		}
		return l.value, true
	}
	return "", false
}

// appendLabels appends the labels of s except the ids, sorted.
func appendLabels(labels []label, s *profile.Sample) []label {
	for key, values := range s.Label {
		switch key {
		case profileIDLabel, spanIDLabel, traceIDLabel:
			continue
		}
		for _, value := range values {
			labels = append(labels, label{key: key, value: value})
		}
	}
	for key, nums := range s.NumLabel {
		units := s.NumUnit[key]
		for i, num := range nums {
			l := label{key: key, num: num, numeric: true}
			if i < len(units) {
				l.unit = units[i]
			}
			labels = append(labels, l)
		}
	}
	// Stable, as several values of one key keep their order.
	slices.SortStableFunc(labels, func(a, b label) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		switch {
		case a.numeric == b.numeric:
			return 0
		case b.numeric:
			return -1
		default:
			return 1
		}
	})
	return labels
}

// firstLabel returns the first value of a label, "" where there is none.
func firstLabel(s *profile.Sample, key string) string {
	if values := s.Label[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// labelling is what groups of a window may have in common: their labels, and
// how they name their span.
type labelling struct {
	set   *labelSet
	form  idForm
	texts *idTexts
}

// idForm says which labels hold the span of a group.
type idForm uint8

const (
	// noIDs: the group has neither profile_id nor span_id.
	noIDs idForm = iota
	// bothIDs: profile_id and span_id are the span's id.
	bothIDs
	// spanIDOnly and profileIDOnly: one of them is, and the other is not
	// there.
	spanIDOnly
	profileIDOnly
	// textIDs: the ids are in texts, as they differ from each other or are
	// not what OpenTelemetry calls an id.
	textIDs
)

// idTexts are the ids of a group as they were written.
type idTexts struct {
	profileID, spanID, traceID string
}

func (t *idTexts) size() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*t))) + memory.Alloc(int64(len(t.profileID))) +
		memory.Alloc(int64(len(t.spanID))) + memory.Alloc(int64(len(t.traceID)))
}

// textID finds a group whose ids are texts by one of them.
type textID struct {
	id    string
	group uint32
}
