// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/secrets"
)

const (
	// MaxValue bounds the bytes of one value, maxSet the values of one span together.
	MaxValue = 1024
	maxSet   = 2048
	// MaxSeen is how many attributes of a span or an event, and how many events, are looked
	// at. By the SDK's default limits a span has half as many at most.
	MaxSeen = 256
	// minRoom is the least room for a part of a value.
	minRoom  = 16
	ellipsis = "…"
	// more is an entry: others were left out, or not looked at.
	more = 255
)

// Entry is one attribute of a set. More means that others were left out, and nothing else is
// set.
type Entry struct {
	Key, Value string
	More       bool
}

// Append appends a set, which is what a span keeps. These are its attributes, the description of
// its status unless that is empty, and its first exception. A set is a sequence of entries: the
// number of the key, two bytes with the length of the value, and the value.
func (k *Keys) Append(sets []byte, values []attribute.KeyValue, status string, events []sdktrace.Event) []byte {
	if k == nil {
		return sets
	}
	w := writer{keys: k, set: sets, limit: len(sets) + maxSet}
	for i := range w.seen(len(values)) {
		if n := k.numbers[string(values[i].Key)]; n != 0 {
			w.value(n, values[i].Value)
		}
	}
	if status != "" {
		w.entry(k.numbers[statusDescription], status)
	}
	at := slices.IndexFunc(events[:min(len(events), MaxSeen)], func(e sdktrace.Event) bool { return e.Name == "exception" })
	if at < 0 {
		w.full = w.full || len(events) > MaxSeen
		return w.end()
	}
	of := events[at].Attributes
	for i := range w.seen(len(of)) {
		if key := of[i].Key; key == ExceptionType || key == ExceptionMessage {
			w.value(k.numbers[string(key)], of[i].Value)
		}
	}
	return w.end()
}

// Restore returns the set of entries that All has shown, perhaps to another process. It
// leaves out what is not a key to keep here.
func (k *Keys) Restore(entries []Entry) string {
	if k == nil {
		return ""
	}
	w := writer{keys: k, limit: maxSet}
	for _, e := range entries {
		w.full = w.full || e.More
		if n := k.numbers[e.Key]; n != 0 {
			w.entry(n, e.Value)
		}
	}
	return string(w.end())
}

// All shows the entries of a set.
func (k *Keys) All(set string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for set != "" {
			e, end := Entry{More: true}, 1
			if n := set[0]; n != more {
				end = 3 + int(set[1])<<8 + int(set[2])
				e = Entry{Key: k.names[n-1], Value: set[3:end]}
			}
			if set = set[end:]; !yield(e) {
				return
			}
		}
	}
}

// writer appends entries to a set.
type writer struct {
	keys *Keys
	set  []byte
	// limit is the length of set with all that has room.
	limit int
	full  bool // something was left out, or not looked at
}

// seen returns how many of n are looked at.
func (w *writer) seen(n int) int {
	w.full = w.full || n > MaxSeen
	return min(n, MaxSeen)
}

func (w *writer) end() []byte {
	if w.full {
		w.set = append(w.set, more)
	}
	return w.set
}

func (w *writer) value(n uint8, v attribute.Value) {
	var number [32]byte
	switch v.Type() {
	case attribute.STRING:
		w.entry(n, v.AsString())
	case attribute.INT64:
		w.put(n, string(strconv.AppendInt(number[:0], v.AsInt64(), 10)), false)
	case attribute.Type(0): // no value
	case attribute.BOOL, attribute.FLOAT64:
		w.entry(n, v.Emit()) //nolint:staticcheck // String is not in the oldest SDK that we support.
	case attribute.STRINGSLICE:
		var list []byte // no longer than needed: to write out megabytes takes a second
		for i, text := range v.AsStringSlice() {
			if len(list) > maxScan {
				break
			}
			if i > 0 {
				list = append(list, ", "...)
			}
			list = append(list, text[:min(len(text), maxScan+1)]...)
		}
		w.entry(n, string(list))
	default: // lists of numbers
		w.full = true
	}
}

// entry appends a value without its secrets. A number goes to put, as it would escape here.
func (w *writer) entry(n uint8, value string) {
	scanned := value[:min(len(value), maxScan)]
	if hide := w.keys.hide[n-1]; hide != nil {
		scanned = hide(scanned)
	}
	w.put(n, scanned, len(value) > maxScan)
}

// put appends an entry with as much of a value as there is room for. cut means that it is
// only the start of one.
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
	end := ""
	if cut || len(value) > room {
		end = ellipsis
	}
	if len(value) > room {
		room -= len(ellipsis)
		for i := 0; i < utf8.UTFMax && room > 0 && !utf8.RuneStart(value[room]); i++ {
			room--
		}
		value = value[:room]
	}
	size := len(value) + len(end)
	w.set = append(append(append(w.set, n, byte(size>>8), byte(size)), value...), end...)
}
