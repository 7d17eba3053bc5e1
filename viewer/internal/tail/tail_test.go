// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// requests makes spans of 20 ms with noise. One in twelve is of tenant a. planted adds a wait.
func requests(random *rand.Rand, n int, planted time.Duration) []Span {
	spans := make([]Span, n)
	for i := range spans {
		cpu := 15e6 * (0.7 + 0.6*random.Float64())
		network := 5e6 * random.ExpFloat64()
		s := Span{ID: fmt.Sprint(i), Parts: map[string]float64{"on a CPU": cpu, "network": network, "GC": 1e5 * random.ExpFloat64()}, Attributes: map[string]string{"tenant": string(rune('b' + random.IntN(5))), "http.request.method": "GET"}}
		if random.IntN(12) == 0 {
			s.Attributes["tenant"] = "a"
			s.Parts["mutex in shop.(*cache).Get"] = float64(planted) * (0.8 + 0.4*random.Float64())
		}
		for _, ns := range s.Parts {
			s.Duration += time.Duration(ns)
		}
		spans[i] = s
	}
	return spans
}

// whole is for spans that have their parts.
func whole(*Span) {}

// The lock of one tenant is found and named.
func TestPlanted(t *testing.T) {
	for seed := range uint64(20) {
		r := Compare(requests(rand.New(rand.NewPCG(seed, 1)), 400, 60*time.Millisecond), whole)
		if len(r.Differences) == 0 || r.Differences[0].Part != "mutex in shop.(*cache).Get" || len(r.Values) == 0 || r.Values[0].Value != "a" {
			t.Errorf("seed %d: %s", seed, r.Sentence)
		}
		if !strings.Contains(r.Sentence, "mutex in shop.(*cache).Get") || !strings.Contains(r.Sentence, "tenant=a") {
			t.Errorf("seed %d: %s", seed, r.Sentence)
		}
	}
}

// Without a planted difference at most one of 20 comparisons names anything. Slow spans are
// chosen by their duration: so the sides here are drawn by lot.
func TestNothing(t *testing.T) {
	named := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		slow, median := requests(random, most, 0), requests(random, most, 0)
		for i := range slow {
			slow[i].Duration *= 2 // without a reason
		}
		if r := compare(slow, median, whole); len(r.Differences)+len(r.Values) > 0 {
			named++
			t.Log(r.Sentence)
		}
	}
	if named > 1 {
		t.Errorf("%d of 20 comparisons name something", named)
	}
}

// A sentence has no room for long values.
func TestLong(t *testing.T) {
	spans := requests(rand.New(rand.NewPCG(1, 1)), 400, 60*time.Millisecond)
	for _, s := range spans {
		s.Attributes["tenant"] = strings.Repeat(s.Attributes["tenant"], 1000)
	}
	if r := Compare(spans, whole); len(r.Sentence) > 300 || !strings.Contains(r.Sentence, "tenant=aaa") {
		t.Errorf("%d bytes: %.400s", len(r.Sentence), r.Sentence)
	}
}

func TestFew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	untouched := func(s *Span) { t.Errorf("span %s is filled in", s.ID) }
	if r := Compare(requests(random, 24, time.Second), untouched); !strings.HasPrefix(r.Sentence, "Too few spans") {
		t.Error(r.Sentence)
	}
	alike := requests(random, 100, 0)
	for i := range alike {
		alike[i].Duration = 20 * time.Millisecond
	}
	if r := Compare(alike, untouched); r.Sentence != "No tail: the slow spans take 20.0 ms, the median ones 20.0 ms." {
		t.Error(r.Sentence)
	}
}

// The figures of R's fisher.test and of a table of Student's distribution with 4 degrees.
func TestChance(t *testing.T) {
	if p := exact(8, 10, 1, 10); p < 0.0025 || p > 0.0030 { // 0.002739
		t.Errorf("exact: got %v", p)
	}
	if p := chance(4.604, 1, 4); p < 0.0095 || p > 0.011 { // 0.01
		t.Errorf("chance: got %v", p)
	}
}
