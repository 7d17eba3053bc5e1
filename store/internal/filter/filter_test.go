// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/samples"
)

const (
	ended, live = "00000000000000e1", "00000000000000a1"
)

// window has one sample of each form; the n-th has the value 1<<n.
func window(tb testing.TB) samples.Window {
	tb.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}
	for i, labels := range []map[string][]string{
		{"profile_id": {live}, "span_id": {live}, "span_name": {"GET /"}},
		{"ended_span_id": {ended}, "tenant": {"a"}},
		{"profile_id": {live}, "span_id": {live}, "span_name": {"GET /"}, "ended_span_id": {ended}},
		{"ended_span_id": {live}},
		{"ended_span_id": {"text"}},
		nil,
	} {
		p.Sample = append(p.Sample, &profile.Sample{Label: labels, Value: []int64{1 << i}})
	}
	w, _ := samples.NewTable(intern.NewTexts()).Build(exporter.NewParsedProfile(exporter.Window{
		Kind: exporter.KindCPU, Start: time.Unix(1, 0), Duration: time.Second,
	}, p), p)
	return w
}

func TestEndedSpanID(t *testing.T) {
	type condition struct {
		label string
		op    filter.Op
		value string
	}
	for _, test := range []struct {
		conditions []condition
		want       int64
		lists      bool
	}{
		{[]condition{{"ended_span_id", filter.Equal, ended}}, 2 + 4, true},
		{[]condition{{"ended_span_id", filter.Equal, ended}, {"tenant", filter.Equal, "a"}}, 2, true},
		{[]condition{{"ended_span_id", filter.Equal, ended}, {"span_id", filter.Equal, live}}, 4, true},
		{[]condition{{"ended_span_id", filter.Equal, "00000000000000ff"}}, 0, true},
		{[]condition{{"ended_span_id", filter.Equal, "text"}}, 16, true},
		{[]condition{{"ended_span_id", filter.Equal, ""}}, 1 + 32, false},
		{[]condition{{"ended_span_id", filter.NotEqual, ""}}, 2 + 4 + 8 + 16, false},
		{[]condition{{"ended_span_id", filter.NotEqual, ended}}, 1 + 8 + 16 + 32, false},
		{[]condition{{"ended_span_id", filter.Regexp, ended + "|" + live}}, 2 + 4 + 8, true},
		{[]condition{{"ended_span_id", filter.NotRegexp, ended + "|" + live}}, 1 + 16 + 32, false},
		{[]condition{{"ended_span_id", filter.Regexp, ".*e1"}}, 2 + 4, false},
		// What was taken after its end is not the span's.
		{[]condition{{"span_id", filter.Equal, ended}}, 0, true},
		{[]condition{{"span_id", filter.Equal, live}}, 1 + 4, true},
		{[]condition{{"profile_id", filter.Regexp, ended + "|" + live}}, 1 + 4, true},
	} {
		w := window(t)
		f := filter.New()
		for _, c := range test.conditions {
			condition, err := filter.NewCondition(c.label, c.op, c.value)
			if err != nil {
				t.Fatal(err)
			}
			f.Add(condition, nil)
		}
		if f.ListsIDs() != test.lists {
			t.Errorf("%v: lists ids is %v", test.conditions, f.ListsIDs())
		}
		var got int64
		if m, ok := f.Match(&w); ok {
			for g := range m.Groups() {
				first, last := g.Bounds()
				for i := first; i < last; i++ {
					got += w.Value(i, 0)
				}
			}
			var sum int64
			for _, s := range m.AppendSums(nil, 0) {
				sum += s
			}
			if sum != got {
				t.Errorf("%v: sums %b, groups %b", test.conditions, sum, got)
			}
		}
		if got != test.want {
			t.Errorf("%v: got %b, want %b", test.conditions, got, test.want)
		}
	}
}

// Filters with the same expression try it once on each group and each value.
func TestTried(t *testing.T) {
	w := window(t)
	for _, test := range []struct{ label, value string }{{"span_id", ".*a1"}, {"ended_span_id", ".*e1"}, {"span_name", "GET.*"}, {"tenant", ".+"}} {
		for _, op := range []filter.Op{filter.Regexp, filter.NotRegexp} {
			c, err := filter.NewCondition(test.label, op, test.value)
			if err != nil {
				t.Fatal(err)
			}
			// What is remembered decides, so that it must be what matched.
			tried := new(filter.Tried)
			name, err := filter.NewCondition("span_name", filter.Equal, "GET /")
			if err != nil {
				t.Fatal(err)
			}
			groups := func(conditions ...filter.Condition) (n int) {
				f := filter.New()
				for i, of := range conditions {
					if i == 0 {
						f.Add(of, tried)
					} else {
						f.Add(of, nil)
					}
				}
				if m, ok := f.Match(&w); ok {
					for range m.Groups() {
						n++
					}
				}
				return n
			}
			own := filter.New()
			own.Add(c, nil)
			want := 0
			if m, ok := own.Match(&w); ok {
				for range m.Groups() {
					want++
				}
			}
			// At first a part is tried, then all, then all again.
			groups(c, name)
			for range 2 {
				if got := groups(c); got != want {
					t.Errorf("%s, operator %d: %d groups, want %d", test.label, op, got, want)
				}
			}
		}
	}
}
