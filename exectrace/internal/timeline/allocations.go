// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"sort"

	exptrace "golang.org/x/exp/trace"
)

// allocation is memory that a goroutine took from the heap at a time.
type allocation struct{ at, bytes int64 }

// metric reads the size of the heap. The runtime emits it on the goroutine that allocates: for
// each large object, and for all small ones since the last refill of the processor's cache. So a
// goroutine may get up to one refill of its predecessor on the processor.
func (s *reading) metric(e *exptrace.Event) {
	m := e.Metric()
	if m.Name != "/memory/classes/heap/objects:bytes" || m.Value.Kind() != exptrace.ValueUint64 {
		return
	}
	before := s.heap
	s.heap = m.Value.Uint64()
	if id := e.Goroutine(); before > 0 && s.heap > before && id != exptrace.NoGoroutine {
		g := &s.Goroutines[s.goroutine(id)]
		g.allocations = append(g.allocations, allocation{s.now(e), int64(s.heap - before)})
		s.used += allocationBytes
	}
}

// Allocated returns the bytes that a goroutine allocated between two times in spans of a set.
func (t *Timeline) Allocated(goroutine int32, from, to int64, set []bool) (bytes int64) {
	list := t.Goroutines[goroutine].allocations
	for _, a := range list[sort.Search(len(list), func(i int) bool { return list[i].at >= from }):] {
		if a.at > to {
			break
		}
		if span := t.SpanAt(goroutine, a.at); span != None && set[span] {
			bytes += a.bytes
		}
	}
	return bytes
}
