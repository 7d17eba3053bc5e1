// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/loudskip"
)

// serveHost serves a host's socket until the end of the test.
func serveHost(t *testing.T) (h *Host, path string) {
	t.Helper()
	h, err := NewHost(new(exportertest.Recorder))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "host.sock")
	if err := handout.CheckNamespace(); err != nil {
		loudskip.Test(t, err.Error())
	}
	l, err := handout.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	serving(t, func(ctx context.Context) error { return h.handout.Serve(ctx, l) })
	return h, path
}

// threadsResult is what internal/integration/ebpftarget prints with a socket.
type threadsResult struct {
	PID                                     int
	Timeline, Ambiguous, Elsewhere, Threads int
	Right, Wrong, Unknown                   int
	Status                                  Status
}

// TestLiveThreads has an unmodified agent, and two programs that place their samples by their own
// execution traces: one in the agent's pid namespace, and one in pid and network namespaces of
// its own.
func TestLiveThreads(t *testing.T) {
	agent := needAgent(t)
	h, path := serveHost(t)
	target := buildTarget(t)
	startAgent(t, agent, "-collection-agent", serveTCP(t, h.core, h.take), "-disable-tls",
		"-t", "go,labels", "-samples-per-second", "397", "-reporter-interval", "1s", "-reporter-jitter", "0")
	for name, flags := range map[string]uintptr{"same pid namespace": 0, "namespaces of its own": syscall.CLONE_NEWPID | syscall.CLONE_NEWNET} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runThreads(t, target, path, flags)
			t.Logf("%+v", r)
			if (flags != 0) != (r.PID == 1) {
				t.Errorf("the program knows itself as %d", r.PID)
			}
			if r.Wrong+r.Elsewhere > 0 || r.Right < 2000 {
				t.Errorf("%d answers right, %d wrong, %d samples on another thread's or program's span, want 0 wrong", r.Right, r.Wrong, r.Elsewhere)
			}
			if r.Threads != 3 {
				t.Errorf("samples of %d threads are placed, want 3", r.Threads)
			}
			// Samples without a span are left out: they may be first ones.
			if r.Ambiguous*100 > (r.Timeline+r.Ambiguous)*3 {
				t.Errorf("%d of %d samples are not placed, want 3 in 100 at most", r.Ambiguous, r.Timeline+r.Ambiguous)
			}
		})
	}
}

// runThreads runs the program until it has placed 2000 samples by its trace, or for two minutes.
func runThreads(t *testing.T, program, socket string, flags uintptr) (r threadsResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-socket", socket, "-place", "2000")
	cmd.Cancel = func() error {
		t.Log("2000 samples are not placed after two minutes")
		return cmd.Process.Signal(os.Interrupt) // so that it prints its progress
	}
	cmd.WaitDelay = 30 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if os.IsPermission(err) {
		loudskip.Test(t, "a process in a pid namespace of its own: "+err.Error())
	}
	if err := cmp.Or(json.Unmarshal(out, &r), err); err != nil {
		t.Fatal(err)
	}
	return r
}
