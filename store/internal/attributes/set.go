// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/secrets"
)

// MaxValue bounds the bytes of one value, MaxOwn the values of one span together.
// MaxBelow bounds the values of its children.
const (
	MaxValue = 1024
	MaxOwn   = 2048
	MaxBelow = 2048
)

const (
	// maxName bounds the name of a child. minRoom is the least room for a part of a
	// value.
	maxName = 128
	minRoom = 16

	ellipsis = "…"
)

// A set is a sequence of entries. An entry is a byte, the length of a text and the text.
// The byte is one of these or the number of a key, and the text is the key's value.
const (
	// ofChild begins the entries of a child; the text is its name.
	ofChild = 0
	// more marks that others were left out. It has no text.
	more = 255
)

// Source is what a span that has ended has to keep: values alone, so that no code but ours
// runs when they are read.
type Source struct {
	// Name is the name of the span, Status the description of its status if it is an
	// error. Both are kept for a child only.
	Name, Status string
	Attributes   []attribute.KeyValue
	Exception    Exception
}

// Exception is what is known of the first exception of a span.
type Exception struct {
	// Attributes are the attributes of the first exception among the events looked at.
	Attributes []attribute.KeyValue
	// Hidden means that an earlier one may be among the other events.
	Hidden bool
}

// ExceptionOf looks for the first exception among the events of a span.
func ExceptionOf(events []sdktrace.Event) Exception {
	for i := 0; i < len(events); i = Next(i, len(events)) {
		if events[i].Name == "exception" {
			return Exception{events[i].Attributes, i >= MaxSeen/2 && Unseen(len(events)) > 0}
		}
	}
	return Exception{Hidden: Unseen(len(events)) > 0}
}

// Any reports whether there is something to keep or to mark.
func (e *Exception) Any() bool { return len(e.Attributes) > 0 || e.Hidden }

// Append appends what a span has to a set. If child is set, the set is another
// span's, and the span's name comes first. Without attributes, nothing is appended.
func (k *Keys) Append(set []byte, s *Source, child bool) []byte {
	status := s.Status
	if !child {
		status = ""
	}
	if len(s.Attributes) == 0 && !s.Exception.Any() && status == "" {
		return set
	}
	w := writer{keys: k, set: set, limit: len(set) + MaxOwn}
	if child {
		w.limit = len(set) + MaxBelow
		w.set = append(w.set, ofChild)
		w.text(s.Name, maxName, false)
	}
	before := len(w.set)
	for i := 0; i < len(s.Attributes); i = Next(i, len(s.Attributes)) {
		if n := k.number(string(s.Attributes[i].Key)); n != 0 {
			w.value(n, &s.Attributes[i].Value)
		}
	}
	if status != "" {
		w.entry(k.statusDescription, status)
	}
	w.exception(s.Exception.Attributes)
	w.full = w.full || s.Exception.Hidden || Unseen(len(s.Attributes))+Unseen(len(s.Exception.Attributes)) > 0
	if len(w.set) == before && !w.full {
		return set
	}
	if w.full {
		w.set = append(w.set, more)
	}
	return w.set
}

// writer appends entries to a set.
type writer struct {
	keys  *Keys
	set   []byte
	limit int
	// full means that something was left out, or not looked at.
	full bool
}

func (w *writer) exception(all []attribute.KeyValue) {
	for i := 0; i < len(all); i = Next(i, len(all)) {
		switch n := w.keys.number(string(all[i].Key)); n {
		case w.keys.exceptionType, w.keys.exceptionMessage:
			w.value(n, &all[i].Value)
		}
	}
}

func (w *writer) value(n uint8, v *attribute.Value) {
	var number [32]byte
	switch v.Type() {
	case attribute.STRING:
		w.entry(n, v.AsString())
	case attribute.INT64:
		w.put(n, string(strconv.AppendInt(number[:0], v.AsInt64(), 10)), false)
	case attribute.Type(0): // No value, which has another name in each SDK.
	default:
		v := start(*v)
		w.entry(n, v.Emit()) //nolint:staticcheck // String is not in the oldest SDK that we support.
	}
}

// start returns a value without the elements of a list that are not kept: to write out
// megabytes takes a second. What it returns is longer than MaxValue if anything is missing.
func start(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.BOOLSLICE:
		if list := v.AsBoolSlice(); len(list) > MaxValue {
			return attribute.BoolSliceValue(list[:MaxValue])
		}
	case attribute.INT64SLICE:
		if list := v.AsInt64Slice(); len(list) > MaxValue {
			return attribute.Int64SliceValue(list[:MaxValue])
		}
	case attribute.FLOAT64SLICE:
		if list := v.AsFloat64Slice(); len(list) > MaxValue {
			return attribute.Float64SliceValue(list[:MaxValue])
		}
	case attribute.STRINGSLICE:
		list, room := v.AsStringSlice(), MaxValue
		for i := range list {
			if room -= len(list[i]) + 2; room < 0 { // With its quotes.
				list = slices.Clone(list[:i+1])
				list[i] = list[i][:min(len(list[i]), MaxValue)]
				return attribute.StringSliceValue(list)
			}
		}
	}
	return v
}

// entry appends a value without its secrets. A number goes to put, as it would escape here.
func (w *writer) entry(n uint8, value string) {
	scanned := value[:min(len(value), maxScan)]
	if hide := w.keys.hide[n-1]; hide != nil {
		scanned = hide(scanned)
	}
	w.put(n, scanned, len(value) > maxScan)
}

func (w *writer) put(n uint8, value string, cut bool) {
	if w.keys.hide[n-1] == nil && value != "" {
		value, cut = secrets.Hidden, false
	}
	room := min(MaxValue, w.limit-len(w.set)-3)
	switch {
	case value == "":
		return
	case room < min(minRoom, len(value)):
		w.full = true
		return
	}
	w.set = append(w.set, n)
	w.text(value, room, cut)
}

// text appends the length of a text and the text, cut to a number of bytes. cut means that
// it is only the start of one.
func (w *writer) text(value string, room int, cut bool) {
	cut = cut || len(value) > room
	if room -= len(ellipsis); cut && len(value) > room {
		for i := 0; i < utf8.UTFMax && room > 0 && !utf8.RuneStart(value[room]); i++ {
			room--
		}
		value = value[:max(0, room)]
	}
	n := len(value)
	if cut {
		n += len(ellipsis)
	}
	w.set = append(binary.AppendUvarint(w.set, uint64(n)), value...)
	if cut {
		w.set = append(w.set, ellipsis...)
	}
}

// Entry is one attribute of a set. Child is the name of the span that has it, "" for the
// span of the set. More means that others were left out, and nothing else is set.
type Entry struct {
	Key, Value string
	Child      string
	OfChild    bool
	More       bool
}

// All shows the entries of a set.
func (k *Keys) All(set string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var e Entry
		for set != "" {
			n := set[0]
			set = set[1:]
			if n == more {
				if !yield(Entry{More: true}) {
					return
				}
				continue
			}
			var text string
			text, set = cutText(set)
			if n == ofChild {
				e.Child, e.OfChild = text, true
				continue
			}
			e.Key, e.Value = k.names[n-1], text
			if !yield(e) {
				return
			}
		}
	}
}

// cutText returns the text at the start of a set, and the rest.
func cutText(set string) (text, rest string) {
	n, shift := 0, 0
	for i := 0; i < len(set); i++ {
		n |= int(set[i]&0x7f) << shift
		if set[i] < 0x80 {
			return set[i+1 : i+1+n], set[i+1+n:]
		}
		shift += 7
	}
	return "", ""
}
