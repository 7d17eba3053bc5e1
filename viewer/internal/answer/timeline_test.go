// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

func window(service string, start, duration float64) store.WindowInfo {
	return store.WindowInfo{Kind: exporter.KindCPU, Service: service, Start: after(start), Duration: time.Duration(duration * float64(time.Second))}
}

// text writes the buckets as start+length: values, rest.
func text(t *Timeline) (lines []string) {
	for _, b := range t.Buckets {
		lines = append(lines, fmt.Sprint(b.Start.Sub(epoch), "+", time.Duration(b.DurationNs), ": ", b.Values, " ", b.Rest))
	}
	return lines
}

func TestTimeline(t *testing.T) {
	sum := func(name string, start float64, value int64) store.Sum {
		return store.Sum{Labels: []string{name}, Start: after(start), Value: value}
	}
	cart := []store.WindowInfo{window("cart", 0, 10), window("shop", 0, 10), window("shop", 10, 10), window("cart", 20, 10)}
	for name, test := range map[string]struct {
		samples store.Samples
		windows []store.WindowInfo
		names   []string
		want    []string
	}{
		"a kept span": {
			store.Samples{Sums: []store.Sum{sum("a", -30, 3)}},
			cart[:1],
			[]string{"a"},
			[]string{"-30s+0s: [3] 0", "0s+10s: [0] 0"},
		},
		"no windows": {
			store.Samples{Step: 15 * time.Second, Sums: []store.Sum{sum("a", 0, 3), sum("", 15, 0)}},
			nil,
			[]string{"a"},
			[]string{"0s+15s: [3] 0", "15s+15s: [0] 0"},
		},
	} {
		got := newTimeline(&test.samples, test.windows)
		if diff := cmp.Diff(test.want, text(got)) + cmp.Diff(test.names, got.Names); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A long time line has 240 buckets at most: here 659 windows make 220 of three.
func TestMerge(t *testing.T) {
	merged := func(momentary bool) *Timeline {
		line := &Timeline{Names: []string{"a"}, Momentary: momentary}
		for i := range 659 {
			line.Buckets = append(line.Buckets, Bucket{Start: after(float64(i)), DurationNs: 1e9, Values: []int64{1}, Rest: 2})
		}
		line.Buckets[7].Rest = 5 // in the middle of the third bucket
		line.merge()
		return line
	}
	for momentary, want := range map[bool][]string{
		false: {"6s+3s: [3] 9", "10m57s+2s: [2] 4"},
		true:  {"6s+3s: [1] 2", "10m57s+2s: [1] 2"},
	} {
		got := text(merged(momentary))
		if diff := cmp.Diff(want, []string{got[2], got[len(got)-1]}); diff != "" || len(got) != 220 {
			t.Errorf("momentary %t: %d buckets: %s", momentary, len(got), diff)
		}
	}
	var empty Timeline
	if empty.merge(); len(empty.Buckets) != 0 {
		t.Errorf("no windows make %+v", empty.Buckets)
	}
}

func TestWindows(t *testing.T) {
	heap := window("cart", 0, 0)
	heap.Kind = exporter.KindHeap
	all := []store.WindowInfo{window("cart", 0, 10), heap, window("cart", 5, 10), window("cart", 20, 10), window("cart", 30, 10)}
	for _, test := range []struct {
		kind        exporter.Kind
		from, until time.Time
		want        int
	}{
		{exporter.KindCPU, time.Time{}, time.Time{}, 4},
		{exporter.KindCPU, after(10), time.Time{}, 3},
		{exporter.KindCPU, after(15), after(30), 1},
		{exporter.KindHeap, after(0), after(1), 1},
		{exporter.KindHeap, after(1), time.Time{}, 0},
	} {
		if got := windowsIn(all, test.kind, test.from, test.until); len(got) != test.want {
			t.Errorf("%+v: %d windows", test, len(got))
		}
	}
}

// Parents may form a circle, and a span in another process is no local child.
func TestEachBelow(t *testing.T) {
	span := func(id, parent string, root bool) store.Span {
		return store.Span{ProfileID: id, ParentID: parent, LocalRoot: root}
	}
	root := span("1", "3", false)
	trace := []store.Span{root, span("2", "1", false), span("3", "2", false), span("4", "1", true), span("5", "4", false), span("6", "9", false)}
	ids := func(spans []store.Span) (ids string) {
		for _, s := range spans {
			ids += fmt.Sprint(s.ProfileID)
		}
		return ids
	}
	for _, test := range []struct{ leaveOut, want string }{{"", "23"}, {"2", "2"}} {
		var visited []store.Span
		eachBelow(root, trace, func(s store.Span) bool {
			visited = append(visited, s)
			return s.ProfileID != test.leaveOut
		})
		if got := ids(visited); got != test.want {
			t.Errorf("visited %s, want %s", got, test.want)
		}
	}
}
