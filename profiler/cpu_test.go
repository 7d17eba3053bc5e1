// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/internal/marker"
)

// A call of runtime/pprof that returns after the end changes nothing in cpu: the loop uses it.
func TestLateCallAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pending := newCPU(config{patience: 2 * time.Second}), make(chan *cpuRun)
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
	c, pending, written := newCPU(config{patience: 2 * time.Second}), make(chan *cpuRun, 1), make(chan struct{})
	close(written)
	old := &cpuRun{written: written}
	marker.Do(t.Context(), "GET /", func(context.Context) {
		if err := pprof.Lookup("goroutine").WriteTo(&old.profile, 0); err != nil {
			t.Fatal(err)
		}
	})
	c.pending, c.open = pending, old
	pending <- nil
	piece, _ := c.stop()
	if piece == nil || c.state != stateStopped || c.open != nil {
		t.Fatalf("got %v, state %q, want the profile and %q", piece, c.state, stateStopped)
	}
	if p, err := piece.Parsed(); err != nil || strings.Contains(p.String(), "internal/marker.") {
		t.Errorf("got %v, %v, want no frames of markers", p, err)
	}
}
