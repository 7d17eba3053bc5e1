// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

func init() { children["freeze"] = serveWhileFrozen }

const (
	freezes     = 8
	requestTime = 50 * time.Millisecond
	freezeTime  = 500 * time.Millisecond
)

// frozenReport is what the child says at its end.
type frozenReport struct {
	Requests     time.Duration // their wall time, by samples
	Open         time.Duration // that of the one span that lasts
	Window       time.Duration
	Interval     time.Duration // between rounds
	Rounds       uint64
	Unwatched    time.Duration
	Freezes      uint64
	Lived        time.Duration // of the span that lasts, by the child's own clock
	RequestTimes []time.Duration
}

// TestWallOfRequestsBetweenFreezes: a request has its own time and not that for which
// the process was suspended before it came. A span that was open meanwhile has both.
//
// One run on Go 1.27.3 counted seven of the eight stops, with the samples right. Why is not
// known, so a run that is wrong is logged and made again, twice at most.
func TestWallOfRequestsBetweenFreezes(t *testing.T) {
	var wrong error
	for range 3 {
		if wrong = requestsBetweenFreezes(t); wrong == nil {
			return
		}
		t.Log(wrong)
	}
	t.Error(wrong)
}

func requestsBetweenFreezes(t *testing.T) error {
	t.Helper()
	c := startChild(t, "freeze")
	c.read(t) // it is ready
	for range freezes {
		c.signal(t, syscall.SIGSTOP)
		c.untilStopped(t)
		time.Sleep(freezeTime)
		c.write(t, "request\n") // it begins as soon as the process goes on
		c.signal(t, syscall.SIGCONT)
		c.read(t)
	}
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	var got frozenReport
	if err := json.Unmarshal(c.read(t), &got); err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	for _, d := range got.RequestTimes {
		took += d
	}
	t.Logf("requests took %v, their samples make %v; the open span %v and %v; %d rounds, %v unwatched in %d freezes", took, got.Requests, got.Lived, got.Open, got.Rounds, got.Unwatched, got.Freezes)
	// Each request may have too much by what was planned to the round that finds it
	// first, and by what is not told from a busy machine.
	const slack = 10 * time.Millisecond
	if most := took + freezes*(3*got.Interval/2+slack); got.Requests > most || got.Requests == 0 {
		return fmt.Errorf("the samples of requests that took %v make %v, want at most %v", took, got.Requests, most)
	}
	if got.Open > got.Window || got.Open < got.Lived*9/10 {
		return fmt.Errorf("the samples of the span that was open for %v make %v in a window of %v", got.Lived, got.Open, got.Window)
	}
	if got.Freezes < freezes || got.Unwatched < freezes*freezeTime*9/10 || got.Unwatched > got.Window {
		return fmt.Errorf("%v in %d freezes were unwatched, want at least %v in %d", got.Unwatched, got.Freezes, freezes*freezeTime*9/10, freezes)
	}
	return nil
}

// serveWhileFrozen is the child: each line of its input is a request.
func serveWhileFrozen() error {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(0.5), profiler.WithWindow(endless))
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := p.Start(); err != nil {
		return err
	}
	stop := make(chan struct{})
	go pprof.Do(context.Background(), pprof.Labels("span_id", "00000000000000ff"), func(context.Context) { <-stop })
	for p.Status().Wall.Samples == 0 { // until a round has found that span
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	var report frozenReport
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		begin := time.Now()
		pprof.Do(context.Background(), pprof.Labels("span_id", fmt.Sprintf("%016x", len(report.RequestTimes)+1)), func(context.Context) { time.Sleep(requestTime) })
		report.RequestTimes = append(report.RequestTimes, time.Since(begin))
		fmt.Println("done")
	}
	if err := p.Flush(context.Background()); err != nil {
		return err
	}
	status := p.Status().Wall
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	report.Lived = time.Since(begin)
	close(stop)
	for _, w := range rec.Profiles() {
		report.Window += w.Duration()
		parsed, err := w.Parsed()
		if err != nil {
			return err
		}
		for _, s := range parsed.Sample {
			if s.Label["span_id"][0] == "00000000000000ff" {
				report.Open += time.Duration(s.Value[1])
			} else {
				report.Requests += time.Duration(s.Value[1])
			}
		}
	}
	report.Interval = status.Interval
	report.Rounds, report.Unwatched, report.Freezes = status.Rounds, status.Unwatched, status.Freezes
	return json.NewEncoder(os.Stdout).Encode(report)
}

// child is this test's executable, run again.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

// startChild runs one of children.
func startChild(t *testing.T, name string) *child {
	t.Helper()
	c := &child{command: exec.CommandContext(t.Context(), "/proc/self/exe")}
	c.command.Env = append(os.Environ(), childVariable+"="+name)
	c.command.Stderr = os.Stderr
	stdin, err := c.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.command.Process.Kill() // where it has not ended by itself
		_ = c.command.Wait()
	})
	return c
}

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// untilStopped returns when no thread of the child runs.
func (c *child) untilStopped(t *testing.T) {
	t.Helper()
	for {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(c.command.Process.Pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		_, state, _ := bytes.Cut(stat, []byte(") "))
		if state[0] == 'T' {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *child) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		t.Fatal(err)
	}
}

// read returns the next line that the child writes.
func (c *child) read(t *testing.T) []byte {
	t.Helper()
	line, err := c.stdout.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}
