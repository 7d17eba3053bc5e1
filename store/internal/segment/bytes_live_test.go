// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package segment

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// TestBytes compares the bytes that a room counts with the heap, when it is full.
func TestBytes(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, add := range map[string]func(r *Room, n int){
		"spans of unique names": func(r *Room, _ int) {
			for range 200 {
				r.End(Ended{ID: ident.Key(rnd.Uint64()), Name: fmt.Sprint("GET /", rnd.Uint64()), Attributes: fmt.Sprint(rnd.Uint64()), Duration: second})
			}
		},
		"rows of spans": func(r *Room, n int) {
			var rows []row
			for range 500 {
				id := fmt.Sprintf("%016x", rnd.Uint64())
				rows = append(rows, row{fmt.Sprint("main;serve;f", rnd.IntN(500), ";g", rnd.IntN(500)), 1, labels("profile_id", id, "span_id", id, "trace_id", fmt.Sprintf("%032x", rnd.Uint64()))})
			}
			_ = r.Export(windowOf(n, exporter.KindCPU, profileOf(rows...)))
		},
		"unique labels and functions": func(r *Room, n int) {
			var rows []row
			for range 200 {
				rows = append(rows, row{fmt.Sprint("main;f", rnd.Uint64()), 1, labels("n", fmt.Sprint(rnd.Uint64()), "profile_id", fmt.Sprint("job ", rnd.Uint64()))})
			}
			_ = r.Export(windowOf(n, exporter.KindCPU, profileOf(rows...)))
		},
	} {
		for _, maxBytes := range []int64{8 << 20, 64 << 20} {
			before := heap()
			r := NewRoom(maxBytes, nil)
			for n := range int(maxBytes >> 20 * 25) {
				add(r, n)
			}
			got, counted := heap()-before, r.Bytes()
			t.Logf("%s, %d MiB: %d bytes counted, %d on the heap", name, maxBytes>>20, counted, got)
			if counted > maxBytes || got > maxBytes*115/100 || got > counted*115/100 {
				t.Errorf("%s: %d bytes counted, %d on the heap, at most %d", name, counted, got, maxBytes)
			}
			runtime.KeepAlive(r)
		}
	}
}
