// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// perBand is how many spans of a name have a rank for each latency band: the slowest.
	// As many with the most CPU time have one.
	perBand = 10
	// perError is how many errors of a name and status have a rank.
	perError = 3
	// errorBand and cpuBand are lists beside the bands of latency.
	errorBand = -1
	cpuBand   = -2
)

// band returns the latency band of a span. The bands end at 1 ms, 4 ms, 16 ms and so on.
func band(duration int64) int {
	b := 0
	for ; duration >= int64(time.Millisecond) && b < 9; duration /= 4 {
		b++
	}
	return b
}

// ranking is a list of spans with a rank. text distinguishes errors.
type ranking struct {
	service, name, text string
	band                int
}

// ranked is a span in a list.
type ranked struct {
	id    ident.Key
	value int64
}

// rank returns the spans with a rank. They are the slowest of each band of a name, the
// spans with the most CPU time, and the last errors of each type. more returns samples in
// other segments.
func rank(s *Segment, list []record, more func(ident.Key) Sums) map[ident.Key]bool {
	lists := rankings(s, list, more)
	ids := make(map[ident.Key]bool)
	for _, l := range lists {
		for _, r := range l {
			ids[r.id] = true
		}
	}
	return ids
}

func rankings(s *Segment, list []record, more func(ident.Key) Sums) map[ranking][]ranked {
	lists := make(map[ranking][]ranked)
	for i := range list {
		r := &list[i]
		if r.child {
			continue
		}
		of := ranking{service: s.spans.texts.list[r.service], name: s.spans.texts.list[r.name], band: band(r.duration)}
		enter(lists, of, ranked{r.id, r.duration}, perBand)
		sums, _, _ := s.index.of(s, r.id)
		if more != nil {
			sums.Add(more(r.id))
		}
		if of.band = cpuBand; sums.CPU > 0 {
			enter(lists, of, ranked{r.id, sums.CPU}, perBand)
		}
		if r.err {
			of.band, of.text = errorBand, s.spans.texts.list[r.status]
			enter(lists, of, ranked{r.id, r.end()}, perError)
		}
	}
	return lists
}

// enter puts a span into a sorted list of at most n.
func enter(lists map[ranking][]ranked, to ranking, r ranked, n int) {
	l := lists[to]
	if len(l) == n && l[n-1].value >= r.value {
		return
	}
	i, _ := slices.BinarySearchFunc(l, r, func(a, b ranked) int { return cmp.Compare(b.value, a.value) })
	l = slices.Insert(l, i, r)
	lists[to] = l[:min(len(l), n)]
}
