// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanlog

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// TestChurnedMaps holds the memory of maps whose elements come and go against what
// is counted for the index of spans.
func TestChurnedMaps(t *testing.T) {
	heapBytes() // The first call allocates.
	var element struct {
		key ident.Key
		row rowID
	}
	for i, n := range []int{500, 500, 1000, 1500, 2000, 3000, 4000, 6000, 9000, 14000, 18000} {
		ring := make([]ident.Key, n)
		before := heapBytes()
		m := make(map[ident.Key]rowID)
		for j := range 12 * n {
			delete(m, ring[j%n])
			key := ident.Key(rand.Uint64())
			element.key, element.row = key, 1
			m[key], ring[j%n] = element.row, key
		}
		grown, counted := heapBytes()-before, memory.ChurnedMap(n, int64(unsafe.Sizeof(element)))
		t.Logf("%d elements: counted %d, heap %d (%+d %%)", n, counted, grown, 100*(grown-counted)/counted)
		if i == 0 {
			continue // What the runtime allocates only once is in it.
		}
		// Some kB are the runtime's own and come and go.
		const own = 8 << 10
		if grown < counted*85/100-own || grown > counted*115/100+own {
			t.Errorf("%d elements: counted %d bytes, the heap grew by %d", n, counted, grown)
		}
		runtime.KeepAlive(m)
		runtime.KeepAlive(ring)
	}
}

func heapBytes() int64 {
	var m runtime.MemStats
	// The second collection frees what finalizers and pools held.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
