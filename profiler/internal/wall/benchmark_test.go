// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// BenchmarkRound takes rounds of goroutines that each wait in a span of their
// own.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, s := range sources() {
			b.Run(fmt.Sprintf("%s/%d", s.name(), n), func(b *testing.B) {
				defer spans(n)()
				tab := newTable()
				b.ReportAllocs()
				for b.Loop() {
					if err := round(s, func(stack []uintptr, labels []label, count int64) { tab.add(stack, labels, count) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkProfile makes the profile of a window with as many different samples.
func BenchmarkProfile(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			defer spans(n)()
			s, tab := newSource(false), newTable()
			if err := round(s, func(stack []uintptr, labels []label, count int64) { tab.add(stack, labels, count) }); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				build(s, tab, time.Now(), time.Second)
			}
		})
	}
}

// spans starts goroutines that wait until the returned function is called.
func spans(n int) (end func()) {
	var wait, ready sync.WaitGroup
	stop := make(chan struct{})
	ready.Add(n)
	for i := range n {
		wait.Go(func() { span(fmt.Sprintf("%016x", i), func() { ready.Done(); <-stop }) })
	}
	ready.Wait()
	runtime.Gosched()
	return func() {
		close(stop)
		wait.Wait()
	}
}
