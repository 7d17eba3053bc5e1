// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/spanprof/spanprof/store/internal/memory"
)

// The garbage collector has nothing to follow in rows.
func TestRowsHaveNoPointers(t *testing.T) {
	var look func(path string, of reflect.Type)
	look = func(path string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Bool, reflect.Int64, reflect.Uint8, reflect.Uint32:
		case reflect.Array:
			look(path, of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				look(path+"."+field.Name, field.Type)
			}
		default:
			t.Errorf("%s is a %s", path, of)
		}
	}
	look("Row", reflect.TypeFor[Row]())
}

// A table gives the places of what was removed to what comes, and counts what it keeps.
func TestTable(t *testing.T) {
	var (
		texts table[string]
		bytes int64
	)
	add := func(s string) ref {
		place, grown := texts.add(s)
		bytes += grown
		return place
	}
	a, b := add("a"), add("b")
	bytes += texts.remove(a)
	if got := texts.at(b); got != "b" {
		t.Errorf("the text that stays is %q, want b", got)
	}
	if c := add("c"); c != a || texts.at(c) != "c" {
		t.Errorf("c is at %d as %q, want the place of a, %d", c, texts.at(c), a)
	}
	if texts.at(0) != "" {
		t.Error("place 0 has a text")
	}
	// Two strings, and the place that was free.
	if bytes < 2*memory.String+4 {
		t.Errorf("the table takes %d bytes", bytes)
	}
	bytes += texts.remove(a)
	bytes += texts.remove(b)
	if bytes != 0 {
		t.Errorf("an empty table takes %d bytes", bytes)
	}
}

// What a burst of errors took for their statuses is given back when they have gone, though
// newer errors are there.
func TestTablesShrinkAfterABurst(t *testing.T) {
	l := New(Config{MaxBytes: 4 << 20, Fraction: 1, PerName: 20})
	tracer := newTracer(l)
	spans := func(n int, fails func(i int) bool) {
		for i := range n {
			_, span := tracer.Start(t.Context(), "GET /", at(0))
			if fails(i) {
				span.SetStatus(codes.Error, fmt.Sprint("out of stock: item ", i))
			}
			span.End(at(1))
		}
		l.Settle()
	}
	spans(2*l.maxRows, func(int) bool { return true })
	full := len(l.statuses.values)
	spans(8*l.maxRows, func(i int) bool { return i%10 == 0 })
	used := len(l.statuses.values) - len(l.statuses.free)
	if got := len(l.statuses.values); got > full/2 || used == 0 {
		t.Errorf("%d places for %d statuses, of %d in the burst", got, used, full)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := l.lists[errorList].first; id != 0; id = l.row(id).next {
		if r := l.record(l.row(id)); !strings.HasPrefix(r.Status, "out of stock: item ") || r.Name.Value != "GET /" {
			t.Fatalf("a record has status %q and name %q", r.Status, r.Name.Value)
		}
	}
}
