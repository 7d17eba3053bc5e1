// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && !spanprof_public

package spanlabels

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// 10,240 goroutines start a span each, never end it, and start the next goroutine. At most
// 256 blocks are alive, and that many at the last.
func TestChainOfGoroutines(t *testing.T) {
	const links = 40 * maxDepth
	blocks := make([]weak.Pointer[Block], links)
	done := make(chan struct{})
	root := Start(context.Background(), nil, number(links))
	defer root.End()
	var next func(i int)
	next = func(i int) {
		blocks[i] = weak.Make(Start(context.Background(), root, number(i)))
		if i+1 < links {
			go next(i + 1)
			return
		}
		for range 3 { // other goroutines may still be about to exit
			runtime.Gosched()
			runtime.GC()
		}
		alive := 0
		for _, b := range blocks {
			if b.Value() != nil {
				alive++
			}
		}
		if t.Logf("%d blocks are alive", alive); alive != maxDepth {
			t.Errorf("want %d", maxDepth)
		}
		close(done)
	}
	go func() {
		goruntime.SetLabels(nil)
		next(0)
	}()
	<-done
}
