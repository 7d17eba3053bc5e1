// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/profiler"
)

func init() {
	children["starved"] = sleepWhileStarved
	children["neighbour"] = takeCPU
}

// takeCPU is a neighbour, which takes a CPU until its input ends.
func takeCPU() error {
	fmt.Println("ready")
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	for !over.Load() {
	}
	return nil
}

// starvedReport is what the child says.
type starvedReport struct {
	Late      time.Duration // by how much its sleeps were late that were so by what a freeze takes
	Freezes   uint64
	Unwatched time.Duration
}

// TestStarvationIsNoFreeze: a process that hardly gets any CPU beside its neighbours is
// late for long, without having used any CPU time, and was not stopped.
func TestStarvationIsNoFreeze(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		loudskip.Test(t, "the kernel does not tell run delays: "+err.Error())
	}
	// The neighbours have the weight of 15 priorities more.
	for range 3 * runtime.NumCPU() {
		startChild(t, "neighbour").read(t)
	}
	c := startChild(t, "starved")
	c.read(t)
	const enough = 3 * time.Second
	var got starvedReport
	for wait := time.Second; wait <= 16*time.Second && got.Late < enough; wait *= 2 {
		time.Sleep(wait)
		c.write(t, "?\n")
		if err := json.Unmarshal(c.read(t), &got); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v", got)
	if got.Late < enough {
		loudskip.Test(t, fmt.Sprintf("the process was late by %v only", got.Late))
	}
	// Now and then more threads wait one after the other than can be known.
	if got.Unwatched > got.Late/2 {
		t.Errorf("%v of %v unwatched in %d freezes of a process that was not stopped", got.Unwatched, got.Late, got.Freezes)
	}
}

// sleepWhileStarved is the child: it answers each line of its input by a report.
func sleepWhileStarved() error {
	// Those threads that there are, and by them those to come.
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, 19); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	p, err := profiler.New(new(exportertest.Recorder), profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(0.1), profiler.WithWindow(endless))
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	go pprof.Do(context.Background(), pprof.Labels("span_id", lasting), func(context.Context) { select {} })
	var late atomic.Int64
	go func() {
		for begin := time.Now(); ; begin = time.Now() {
			const plan = 10 * time.Millisecond
			time.Sleep(plan)
			if d := time.Since(begin) - plan; d > 100*time.Millisecond {
				late.Add(int64(d))
			}
		}
	}()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		s := p.Status().Wall
		if err := json.NewEncoder(os.Stdout).Encode(starvedReport{time.Duration(late.Load()), s.Freezes, s.Unwatched}); err != nil {
			return err
		}
	}
	return p.Shutdown(context.Background())
}
