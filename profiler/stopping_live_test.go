// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"runtime"
	"sync"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// A look at all goroutines, at the begin of each run, needs little memory for each.
func TestStoppingNeedsLittleMemory(t *testing.T) {
	if !goruntime.ListsGoroutines() {
		t.Skip("runtime.GoroutineProfile has 256 bytes for each")
	}
	const goroutines, each = 10_000, 192
	release := make(chan struct{})
	var waiting, ended sync.WaitGroup
	waiting.Add(goroutines)
	for range goroutines {
		ended.Go(func() {
			waiting.Done()
			<-release
		})
	}
	waiting.Wait()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	called, waits := stopping()
	runtime.ReadMemStats(&after)
	close(release)
	ended.Wait()
	if called || waits {
		t.Errorf("called %t, waits %t, though nobody has stopped a profile", called, waits)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / goroutines; got > each {
		t.Errorf("%d bytes for each goroutine, want %d at most", got, each)
	}
}
