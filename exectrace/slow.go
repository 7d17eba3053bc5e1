// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math/bits"
	"strings"
	"sync"
	"time"
)

const (
	// maxSlowNames is how many names have a p99 of their own; the others share one.
	maxSlowNames = 500
	// maxSlowName is how much of a name tells it from others.
	maxSlowName = 256
	// leastSpans is how many spans a name has before any of them is slow.
	leastSpans = 100
	// halveAt is how many spans count at most: the newer ones count more.
	halveAt = 10_000
	// durationBuckets is how many durations are told apart, from 8 us to hours, 8 for each
	// factor of 2.
	durationBuckets, leastBucket = 256, 13
)

// slowness says which spans are slow.
type slowness struct {
	// threshold is how long a slow span takes at least; 0 stands for the p99 of its name.
	threshold time.Duration

	mu     sync.Mutex
	names  map[string]*durations
	others durations
}

// slow counts a span, and says whether it is slow.
func (s *slowness) slow(name string, d time.Duration) bool {
	if s.threshold > 0 {
		return d >= s.threshold
	}
	name = name[:min(len(name), maxSlowName)]
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.names[name]
	if of == nil {
		if of = &s.others; len(s.names) < maxSlowNames {
			if s.names == nil {
				s.names = map[string]*durations{}
			}
			of = &durations{}
			s.names[strings.Clone(name)] = of
		}
	}
	return of.add(d)
}

// durations are those of the spans of a name.
type durations struct {
	counts [durationBuckets]uint16
	total  int
	p99    int // the bucket of the p99
}

// add counts a span, and says whether it took longer than 99 in 100 of those before.
func (d *durations) add(took time.Duration) bool {
	b := bucketOf(took)
	slow := d.total >= leastSpans && b > d.p99
	d.counts[b]++
	d.total++
	if d.total == halveAt {
		d.total = 0
		for i := range d.counts {
			d.counts[i] /= 2
			d.total += int(d.counts[i])
		}
	}
	if d.total <= leastSpans || d.total%32 == 0 || slow {
		above := 0
		for d.p99 = durationBuckets - 1; d.p99 > 0; d.p99-- {
			if above += int(d.counts[d.p99]); above*100 > d.total {
				break
			}
		}
	}
	return slow
}

func bucketOf(d time.Duration) int {
	ns := uint64(max(d, 1))
	e := bits.Len64(ns) - 1
	if e < leastBucket {
		return 0
	}
	return min((e-leastBucket)<<3|int(ns>>(e-3)&7), durationBuckets-1)
}
