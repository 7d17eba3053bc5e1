// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"testing"
	"testing/synctest"
)

// A call of runtime/pprof that returns after the end changes nothing in cpu: the loop uses it.
func TestLateCallAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pending := newCPU(nil), make(chan *cpuRun)
		c.pending = pending
		if piece, err := c.stop(); piece != nil || err != nil {
			t.Errorf("got %v, %v, want nothing", piece, err)
		}
		pending <- nil
		if c.measuring() { // the race detector watches
			t.Error("measures after the end")
		}
		synctest.Wait()
	})
}

// A profile that another one has delayed until the end is returned, and the state is the end.
func TestStopWhileACallIsLate(t *testing.T) {
	c, pending, written := newCPU(nil), make(chan *cpuRun, 1), make(chan struct{})
	close(written)
	c.pending, c.open = pending, &cpuRun{written: written}
	pending <- nil
	if piece, _ := c.stop(); piece == nil || c.state != stateStopped || c.open != nil {
		t.Errorf("got %v, state %q, want the profile and %q", piece, c.state, stateStopped)
	}
}
