// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableSumsWhatIsTheSame(t *testing.T) {
	tab := newTable()
	a, b := []label{{Key: "span_id", Value: "a"}}, []label{{Key: "span_id", Value: "b"}}
	add := func(stack []uintptr, labels []label, count int64, since time.Duration) {
		t.Helper()
		if !tab.add(stack, labels, count, weight{watched: since}) {
			t.Fatal("an empty table is full")
		}
	}
	add([]uintptr{1, 2}, a, 1, 10)
	add([]uintptr{1, 2}, []label{{Key: "span_id", Value: "a"}}, 2, 5)
	add([]uintptr{1, 2}, b, 1, 1)
	add([]uintptr{1}, a, 1, 2)
	add(nil, a, 1, 3)
	add([]uintptr{1, 2}, nil, 1, 4)
	if len(tab.entries) != 5 {
		t.Errorf("%d entries, want 5", len(tab.entries))
	}
	for _, e := range tab.entries {
		if len(e.stack) == 2 && len(e.labels) == 1 && e.labels[0].Value == "a" && (e.count != 3 || e.time != 20) {
			t.Errorf("%d of %v, want 3 of 20 ns", e.count, e.time)
		}
	}
}

// What nobody watched is counted for those alone that were there before, as many as
// there were, wherever in the span they are now.
func TestUnwatchedTime(t *testing.T) {
	tab := newTable()
	a, b := []label{{Key: "span_id", Value: "a"}}, []label{{Key: "span_id", Value: "b"}}
	first := weight{watched: 1}
	tab.add([]uintptr{1}, a, 1, first)
	tab.add([]uintptr{2}, a, 1, first)
	tab.add([]uintptr{1}, nil, 1, first)
	tab.rounds++
	w := weight{watched: 10, unwatched: 100, before: tab.lastFound()}
	tab.add([]uintptr{3}, a, 3, w)
	tab.add([]uintptr{1}, a, 1, w)
	tab.add([]uintptr{1}, b, 1, w)
	tab.add([]uintptr{1}, nil, 1, w)
	tab.rounds++
	got := make(map[string]time.Duration)
	for _, e := range tab.entries {
		key := "none"
		if len(e.labels) > 0 {
			key = e.labels[0].Value
		}
		got[fmt.Sprint(key, e.stack)] = e.time
	}
	want := map[string]time.Duration{"a[1]": 11, "a[2]": 1, "a[3]": 230, "b[1]": 10, "none[1]": 111}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tab.extend(1000)
	for _, e := range tab.entries {
		if len(e.labels) > 0 && e.labels[0].Value == "a" && e.stack[0] == 2 && e.time != 1 {
			t.Error("what the last round has not found is counted for the time after it")
		}
		if len(e.stack) > 0 && e.stack[0] == 3 && e.time != 3230 {
			t.Errorf("what the last round found three times has %v, want 3230", int64(e.time))
		}
	}
}

func TestTableIsBounded(t *testing.T) {
	tab := newTable()
	for i := range uintptr(maxEntries) {
		if !tab.add([]uintptr{i}, nil, 1, weight{watched: 1}) {
			t.Fatalf("full after %d", i)
		}
	}
	if tab.add([]uintptr{maxEntries}, nil, 1, weight{watched: 1}) {
		t.Error("one more was taken")
	}
	if !tab.add([]uintptr{0}, nil, 1, weight{watched: 1}) {
		t.Error("one that is there already was not counted")
	}
	if len(tab.entries) != maxEntries {
		t.Errorf("%d entries, want %d", len(tab.entries), maxEntries)
	}
}

func TestTableKeepsEntriesOfTheSameHashApart(t *testing.T) {
	tab := newTable()
	tab.add([]uintptr{1}, nil, 1, weight{watched: 1})
	for _, e := range tab.entries {
		e.stack = []uintptr{2} // as if 2 had the hash of 1
	}
	for range 2 {
		tab.add([]uintptr{1}, nil, 1, weight{watched: 1})
	}
	if len(tab.entries) != 2 {
		t.Fatalf("%d entries, want 2", len(tab.entries))
	}
	for _, e := range tab.entries {
		if e.stack[0] == 1 && e.count != 2 || e.stack[0] == 2 && e.count != 1 {
			t.Errorf("%d of %v", e.count, e.stack)
		}
	}
}
