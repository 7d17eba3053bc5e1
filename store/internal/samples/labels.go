// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strconv"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// LabelSet holds the labels of samples except the ids.
type LabelSet struct {
	// Labels are sorted by key.
	Labels []Label
}

// Label is a string label, or a numeric one with its unit.
type Label struct {
	Key, Value, Unit string
	Num              int64
	Numeric          bool
}

// Lookup returns the value of the first label of that key, a number in decimal, and
// whether there is one.
func (s *LabelSet) Lookup(key string) (string, bool) {
	for _, l := range s.Labels {
		if l.Key != key {
			continue
		}
		if l.Numeric {
			return strconv.FormatInt(l.Num, 10), true
		}
		return l.Value, true
	}
	return "", false
}

// Value is Lookup where "" stands for none.
func (s *LabelSet) Value(key string) string {
	value, _ := s.Lookup(key)
	return value
}

// SpanName returns the value of span_name, "" if there is none.
func (s *LabelSet) SpanName() string { return s.Value(labelkey.SpanName) }

// Table keeps one copy of equal label sets for all windows.
type Table struct {
	texts intern.Texts
	sets  *intern.Table[LabelSet]
}

// NewTable returns an empty table, whose labels keep their strings in texts.
func NewTable(texts intern.Texts) *Table {
	return &Table{texts: texts, sets: intern.New(intern.Traits[LabelSet]{
		Hash: func(seed maphash.Seed, s *LabelSet) uint64 {
			var h maphash.Hash
			h.SetSeed(seed)
			for _, l := range s.Labels {
				maphash.WriteComparable(&h, l)
			}
			return h.Sum64()
		},
		Equal: func(a, b *LabelSet) bool { return slices.Equal(a.Labels, b.Labels) },
		Size:  func(s *LabelSet) int64 { return memory.Alloc(int64(len(s.Labels)) * int64(unsafe.Sizeof(Label{}))) },
		Keep: func(s *LabelSet) {
			s.Labels = slices.Clone(s.Labels)
			for i := range s.Labels {
				texts.Keep(&s.Labels[i].Key, &s.Labels[i].Value, &s.Labels[i].Unit)
			}
		},
		Drop: func(s *LabelSet) {
			for _, l := range s.Labels {
				texts.Drop(l.Key, l.Value, l.Unit)
			}
		},
		Shift: func(s *LabelSet, kept bool) {
			for _, l := range s.Labels {
				texts.Shift(kept, l.Key, l.Value, l.Unit)
			}
		},
	})}
}

// Bytes returns the memory of the label sets without their strings.
func (t *Table) Bytes() int64 { return t.sets.Bytes() }

// KeptBytes returns the memory of the label sets that keepers alone refer to.
func (t *Table) KeptBytes() int64 { return t.sets.KeptBytes() }

// Len returns the number of label sets.
func (t *Table) Len() int { return t.sets.Len() }

// RetainKept takes a reference for w, a part that is kept, to all that it shares with
// other windows.
func (t *Table) RetainKept(w *Window) {
	for _, l := range w.labellings {
		t.sets.RetainKept(l.set)
	}
	w.eachText(t.texts.RetainKept)
}

// ReleaseKept gives the references of RetainKept back.
func (t *Table) ReleaseKept(w *Window) {
	for _, l := range w.labellings {
		t.sets.ReleaseKept(l.set)
	}
	w.eachText(t.texts.ReleaseKept)
}

// Release gives the references back that Build took.
func (t *Table) Release(w *Window) {
	for _, l := range w.labellings {
		t.sets.Release(l.set)
	}
	w.eachText(t.texts.Release)
}

// appendLabels appends the labels of s except the ids, sorted. ended says that
// ended_span_id is one.
func appendLabels(labels []Label, s *profile.Sample, ended bool) []Label {
	for key, values := range s.Label {
		switch key {
		case labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID:
			continue
		case labelkey.EndedSpanID:
			if ended {
				continue
			}
		}
		for _, value := range values {
			labels = append(labels, Label{Key: key, Value: value})
		}
	}
	for key, nums := range s.NumLabel {
		units := s.NumUnit[key]
		for i, num := range nums {
			l := Label{Key: key, Num: num, Numeric: true}
			if i < len(units) {
				l.Unit = units[i]
			}
			labels = append(labels, l)
		}
	}
	// Stable, as several values of one key keep their order.
	slices.SortStableFunc(labels, func(a, b Label) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		switch {
		case a.Numeric == b.Numeric:
			return 0
		case b.Numeric:
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
	set   *LabelSet
	form  idForm
	texts *IDs
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

// IDs are the ids of a group as they were written.
type IDs struct {
	Profile, Span, Trace string
}

// value returns the id that a label has.
func (t *IDs) value(label string) string {
	switch label {
	case labelkey.ProfileID:
		return t.Profile
	case labelkey.SpanID:
		return t.Span
	case labelkey.TraceID:
		return t.Trace
	}
	return ""
}

func (t *IDs) size() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*t))) + memory.Alloc(int64(len(t.Profile))) +
		memory.Alloc(int64(len(t.Span))) + memory.Alloc(int64(len(t.Trace)))
}

// textID finds a group whose ids are texts by one of them.
type textID struct {
	id    string
	group uint32
}
