// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !spanprof_public

package goruntime

import (
	"runtime"
	"sync"
	"testing"
)

// Goroutines that exist at the same time have different numbers. The numbers stay the same
// on other threads and when the stack moves.
func TestGoroutine(t *testing.T) {
	const goroutines = 1000
	numbers := make([]uint32, goroutines)
	var first, all sync.WaitGroup
	first.Add(goroutines)
	for i := range numbers {
		all.Go(func() {
			numbers[i] = Goroutine()
			first.Done()
			first.Wait() // all have started
			for depth := range 20 {
				runtime.Gosched()
				if got := deep(1 << depth % 1000); got != numbers[i] {
					t.Errorf("a goroutine's number was %d and is %d", numbers[i], got)
				}
			}
		})
	}
	all.Wait()
	seen := map[uint32]bool{}
	for _, n := range numbers {
		seen[n] = true
	}
	if len(seen) != goroutines || seen[0] {
		t.Errorf("%d numbers of %d goroutines", len(seen), goroutines)
	}
}

// deep calls Goroutine below n frames.
func deep(n int) uint32 {
	if n == 0 {
		return Goroutine()
	}
	var room [64]byte
	room[n%64] = 1
	return deep(n-1) + uint32(room[(n+1)%64])
}

func BenchmarkGoroutine(b *testing.B) {
	for b.Loop() {
		Goroutine()
	}
}
