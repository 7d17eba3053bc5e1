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

// rankings are the spans with a rank. They are the slowest of each band of a name, those
// with the most CPU time, and the last errors.
type rankings map[ranking][]ranked

// add ranks the spans of a segment. cpu returns the CPU time of a span.
func (l rankings) add(s *Segment, cpu func(ident.Key) int64) {
	for i := range s.spans.list {
		r := &s.spans.list[i]
		if r.child {
			continue
		}
		of := ranking{service: s.spans.texts.list[r.service], name: s.spans.texts.list[r.name], band: band(r.duration)}
		l.enter(of, ranked{r.id, r.duration}, perBand)
		of.band = cpuBand
		if n := cpu(r.id); n > 0 {
			l.enter(of, ranked{r.id, n}, perBand)
		}
		if r.err {
			of.band, of.text = errorBand, s.spans.texts.list[r.status]
			l.enter(of, ranked{r.id, r.end()}, perError)
		}
	}
}

// enter puts a span into a sorted list of at most n.
func (l rankings) enter(to ranking, r ranked, n int) {
	of := l[to]
	if len(of) == n && of[n-1].value >= r.value {
		return
	}
	i, _ := slices.BinarySearchFunc(of, r, func(a, b ranked) int { return cmp.Compare(b.value, a.value) })
	of = slices.Insert(of, i, r)
	l[to] = of[:min(len(of), n)]
}
