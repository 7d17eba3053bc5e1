// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableSumsWhatIsTheSame(t *testing.T) {
	tab := newTable()
	a, b := []label{{Key: "span_id", Value: "a"}}, []label{{Key: "span_id", Value: "b"}}
	add := func(stack []uintptr, labels []label, count int64) {
		t.Helper()
		if !tab.add(stack, labels, count) {
			t.Fatal("an empty table is full")
		}
	}
	add([]uintptr{1, 2}, a, 1)
	add([]uintptr{1, 2}, []label{{Key: "span_id", Value: "a"}}, 2)
	add([]uintptr{1, 2}, b, 1)
	add([]uintptr{1}, a, 1)
	add(nil, a, 1)
	add([]uintptr{1, 2}, nil, 1)
	tab.share(10)
	if len(tab.entries) != 5 {
		t.Errorf("%d entries, want 5", len(tab.entries))
	}
	for _, e := range tab.entries {
		if len(e.stack) == 2 && len(e.labels) == 1 && e.labels[0].Value == "a" && (e.count != 3 || e.time != 30) {
			t.Errorf("%d of %v, want 3 of 30 ns", e.count, e.time)
		}
	}
}

// Half of the time between two rounds counts for the stacks of the first round, half for
// the second's. All time before the first round counts for its stacks.
func TestTimeIsShared(t *testing.T) {
	tab := newTable()
	a, b := []label{{Key: "span_id", Value: "a"}}, []label{{Key: "span_id", Value: "b"}}
	round := func(d time.Duration, found ...[]label) {
		for _, labels := range found {
			tab.add([]uintptr{1}, labels, 1)
		}
		tab.share(d)
		tab.complete()
	}
	round(100, a, a)
	round(11, a, b)
	round(1000, b)
	extend(tab.last, 5)
	round(0)
	extend(tab.last, 5)
	got := make(map[string]time.Duration)
	for _, e := range tab.entries {
		got[e.labels[0].Value] = e.time
	}
	if diff := cmp.Diff(map[string]time.Duration{"a": 2*100 + 2*5 + 6 + 500, "b": 6 + 1000 + 5}, got); diff != "" {
		t.Error(diff)
	}
}

// A wait for the next request on a connection is no wait of the span.
func TestHelpers(t *testing.T) {
	tab := newTable()
	for _, stack := range [][]uintptr{{1}, {1, 2}, {1, 3}, {1, 3, 2}, nil} {
		tab.add(stack, []label{{Key: "span_id", Value: "a"}}, 1)
	}
	s := &publicSource{seen: map[uintptr][]frame{
		1: {{Function: "net.(*conn).Read"}}, 2: {{Function: "main.handle"}}, 3: {{Function: "net/http.(*connReader).backgroundRead"}},
	}}
	if got := len(checked(t, build(s, tab, time.Now(), time.Second), nil).Sample); got != 4 {
		t.Errorf("got %d samples, want 4", got)
	}
}

func TestTableIsBounded(t *testing.T) {
	tab := newTable()
	for i := range uintptr(maxEntries) {
		if !tab.add([]uintptr{i}, nil, 1) {
			t.Fatalf("full after %d", i)
		}
	}
	if tab.add([]uintptr{maxEntries}, nil, 1) {
		t.Error("one more was taken")
	}
	if !tab.add([]uintptr{0}, nil, 1) {
		t.Error("one that is there already was not counted")
	}
	if len(tab.entries) != maxEntries {
		t.Errorf("%d entries, want %d", len(tab.entries), maxEntries)
	}
}
