// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"runtime"
	"testing"
	"time"
)

// What the account pays is the CPU time of the thread.
func TestOnThread(t *testing.T) {
	if _, ok := threadCPU(); !ok && runtime.GOOS == "linux" {
		t.Fatal("Linux does not tell the CPU time of a thread")
	} else if !ok {
		t.Skipf("%s does not tell the CPU time of a thread", runtime.GOOS)
	}
	const burned = 20 * time.Millisecond
	took := onThread(func() {
		from, _ := threadCPU()
		for now := from; now-from < burned; now, _ = threadCPU() {
			runtime.Gosched() // the goroutine stays on its thread
		}
	})
	if took < burned {
		t.Errorf("%v of CPU time, want %v at least", took, burned)
	}
}
