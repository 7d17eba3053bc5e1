// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"maps"
	"testing"

	"github.com/google/pprof/profile"
)

// made returns a profile with samples of stacks. A stack is locations, the leaf first, each
// with functions, the inlined first. The line of a function is its length.
func made(value int64, stacks ...[][]string) *profile.Profile {
	p := &profile.Profile{}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{value}}
		for _, names := range stack {
			l := &profile.Location{}
			for _, name := range names {
				l.Line = append(l.Line, profile.Line{Line: int64(10 + len(name)), Function: &profile.Function{Name: name, StartLine: 10}})
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// Calls are counted in the two innermost frames with what is inlined there, once per stack.
func TestCallsOf(t *testing.T) {
	for name, test := range map[string]struct {
		stack [][]string
		want  map[Call]int64
	}{
		"a call":      {[][]string{{"leaf"}, {"caller"}, {"main"}}, map[Call]int64{{"caller", "leaf", 6}: 3}},
		"inlined":     {[][]string{{"leaf", "mid"}, {"root"}}, map[Call]int64{{"root", "mid", 4}: 3, {"mid", "leaf", 3}: 3}},
		"no caller":   {[][]string{{"leaf"}}, map[Call]int64{}},
		"no symbol":   {[][]string{{"leaf"}, {}}, map[Call]int64{{"", "leaf", 0}: 3}},
		"same line":   {[][]string{{"leaf"}, {"leaf"}}, map[Call]int64{}},
		"seen before": {[][]string{{"a", "b", "a", "b"}, {"b"}}, map[Call]int64{{"b", "a", 1}: 3, {"a", "b", 1}: 3}},
	} {
		c := CallsOf(made(3, test.stack), 0)
		total := int64(0)
		for _, w := range test.want {
			total += w
		}
		if !maps.Equal(c.Weight, test.want) || c.Total != total {
			t.Errorf("%s: got %v, total %d, want %v", name, c.Weight, c.Total, test.want)
		}
	}
	if c := CallsOf(made(0, [][]string{{"leaf"}, {"caller"}}), 0); len(c.Weight) != 0 {
		t.Errorf("no samples: got %v", c.Weight)
	}
}

// The heaviest calls are hot until their weight exceeds 99 %.
func TestHot(t *testing.T) {
	a, b, c, d := Call{Caller: "a"}, Call{Caller: "b"}, Call{Caller: "c"}, Call{Caller: "d"}
	for _, test := range []struct{ weight, want map[Call]int64 }{
		{map[Call]int64{a: 990, b: 5, c: 3, d: 2}, map[Call]int64{a: 990, b: 5}}, // exactly 99 % is not enough
		{map[Call]int64{a: 991, b: 9}, map[Call]int64{a: 991}},
		{map[Call]int64{a: 1, b: 1, c: 197, d: 1}, map[Call]int64{c: 197, a: 1, b: 1}},
	} {
		all := Calls{Weight: test.weight}
		for _, w := range test.weight {
			all.Total += w
		}
		if got := all.Hot(); !maps.Equal(got, test.want) {
			t.Errorf("got %v, want %v", got, test.want)
		}
	}
}

func TestUnseen(t *testing.T) {
	p := made(1, [][]string{{"leaf"}, {"caller"}})
	p.Sample = append(p.Sample, made(3, [][]string{{"other"}, {"caller"}}).Sample...)
	if got := Unseen(p, 0); got != 0.25 {
		t.Errorf("got %v, want 0.25", got)
	}
	if got := Unseen(&profile.Profile{}, 0); got != 0 {
		t.Errorf("nothing: got %v", got)
	}
}
