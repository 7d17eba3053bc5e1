// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

var allocated sync.Map // of goroutine to its last piece, so that all escape

// Eight clients allocate known sums in spans of three sizes, beside a heap of
// 256 MB. The table has the median error of each.
func TestAllocatedBytes(t *testing.T) {
	ballast := make([]byte, 256<<20)
	defer runtime.KeepAlive(ballast)
	sizes := map[string]int64{"100 kB": 100 << 10, "1 MB": 1 << 20, "16 MB": 16 << 20}
	a := analyzed(t, func() {
		var clients sync.WaitGroup
		for client := range 8 {
			clients.Go(func() {
				for n := range 40 {
					for name, size := range sizes {
						_, end := begin(fmt.Sprintf("%s/%d/%d", name, client, n))
						for left := size; left > 0; {
							piece := min(left, 64<<rand.IntN(8)) // a size class each
							allocated.Store(client, make([]byte, piece))
							left -= piece
						}
						end()
					}
				}
			})
		}
		clients.Wait()
	})
	for name, size := range sizes {
		var errors []float64
		var sum float64
		for _, s := range a.Spans {
			if len(s.Name) > len(name) && s.Name[:len(name)+1] == name+"/" {
				ratio := float64(s.AllocatedBytes)/float64(size) - 1
				sum += ratio
				errors = append(errors, max(ratio, -ratio))
			}
		}
		slices.Sort(errors)
		n := len(errors)
		if n < 100 {
			t.Fatalf("%s: only %d spans", name, n)
		}
		mean, median, p90 := sum/float64(n), errors[n/2], errors[n*9/10]
		t.Logf("%-6s %d spans: mean %+.1f %%, median error %.1f %%, p90 %.1f %%", name, n, 100*mean, 100*median, 100*p90)
		if limit := map[string]float64{"100 kB": 0.5, "1 MB": 0.15, "16 MB": 0.1}[name]; median > limit || mean > limit || mean < -limit {
			t.Errorf("%s: the error is above %.0f %%", name, 100*limit)
		}
	}
}
