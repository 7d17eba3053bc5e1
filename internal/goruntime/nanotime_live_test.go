// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && !spanprof_public

package goruntime

import (
	"runtime"
	"testing"
	"time"
)

// Nanotime runs as the monotonic clock of package time does. What passes between two calls is at
// least the time measured within them, and at most the time around both.
func TestNanotime(t *testing.T) {
	before := time.Now()
	first := Nanotime()
	begin := time.Now()
	for time.Since(begin) < 2*time.Millisecond {
		runtime.Gosched()
	}
	least := time.Since(begin)
	got := time.Duration(Nanotime() - first)
	most := time.Since(before)
	if first <= 0 || got < least || got > most {
		t.Errorf("%v after %d ns, want %v to %v", got, first, least, most)
	}
}
