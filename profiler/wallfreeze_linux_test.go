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
	"sync"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/profiler"
)

func init() { children["freeze"] = serveWhileFrozen }

const (
	freezes     = 8
	requestTime = 50 * time.Millisecond
	freezeTime  = 500 * time.Millisecond
	// Part of it is the time that the sampler had planned to wait, and that threads
	// wait for a CPU at the thaw.
	leastFreeze = freezeTime * 3 / 4
)

// frozenReport is what the child says at its end.
type frozenReport struct {
	Took, Seen map[string]time.Duration // of each span: by the child's clock, and by samples
	// Lacks is what a span that begins at the thaw may lack, as the profiles state: where
	// the sampler is late then, it may not know when the freeze has ended.
	Lacks     map[string]time.Duration
	Window    time.Duration
	Longest   time.Duration // time between looks, without freezes
	Unwatched time.Duration
	Freezes   uint64
}

// lasting is the id of the span that is open all the time.
const lasting = "00000000000000ff"

// TestWallOfSpansAroundFreezes: a span has its own time, and not that for which the process
// was suspended before it began. One that was open meanwhile has both, also where it ends
// at the thaw.
func TestWallOfSpansAroundFreezes(t *testing.T) {
	if !goruntime.ListsGoroutines() {
		loudskip.Test(t, "the public API does not tell which spans were open in a freeze")
	}
	c := startChild(t, "freeze")
	c.read(t) // it is ready
	for range freezes {
		c.write(t, "open\n") // a span which ends while the process is stopped, by its timer
		c.read(t)            // looks have found it
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
	t.Logf("%v unwatched in %d freezes, up to %v between looks", got.Unwatched, got.Freezes, got.Longest)
	if n := len(got.Took); n != 2*freezes+1 {
		t.Errorf("%d spans, want %d", n, 2*freezes+1)
	}
	for id, took := range got.Took {
		if seen := got.Seen[id]; seen > took+got.Longest || seen < took-got.Longest-got.Lacks[id] {
			t.Errorf("span %s took %v and has %v with %v unwatched, want no more than %v more or less", id, took, seen, got.Lacks[id], got.Longest)
		}
	}
	if got.Freezes != freezes || got.Unwatched < freezes*leastFreeze || got.Unwatched > got.Window {
		t.Errorf("%v in %d freezes were unwatched, want at least %v in %d", got.Unwatched, got.Freezes, freezes*leastFreeze, freezes)
	}
}

// serveWhileFrozen is the child: each line of its input is a span.
func serveWhileFrozen() error {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(0.5), profiler.WithWindow(endless))
	if err != nil {
		return err
	}
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("")
	begin := time.Now()
	if err := p.Start(); err != nil {
		return err
	}
	stop := make(chan struct{})
	go pprof.Do(context.Background(), pprof.Labels("span_id", lasting), func(context.Context) { <-stop })
	for p.Status().Wall.Samples == 0 { // until a round has found that span
		time.Sleep(time.Millisecond)
	}
	// Two stops are one freeze where nobody has looked between them.
	looked := func() {
		for before := p.Status().Wall.Rounds; p.Status().Wall.Rounds < before+2; {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("ready")
	var mu sync.Mutex
	var spans sync.WaitGroup
	report := frozenReport{Took: make(map[string]time.Duration), Seen: make(map[string]time.Duration), Lacks: make(map[string]time.Duration)}
	requests := make(map[string]time.Time) // when they began
	span := func(d time.Duration, after bool) {
		begin := time.Now()
		_, s := tracer.Start(context.Background(), "span")
		time.Sleep(d)
		s.End()
		mu.Lock()
		defer mu.Unlock()
		report.Took[idOf(s)] = time.Since(begin)
		if after {
			requests[idOf(s)] = begin
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "open":
			spans.Go(func() { span(freezeTime-requestTime, false) })
			looked()
		case "request":
			span(requestTime, true)
			looked()
		}
		fmt.Println("done")
	}
	spans.Wait()
	looked()
	if err := p.Flush(context.Background()); err != nil {
		return err
	}
	status := p.Status().Wall
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	report.Took[lasting] = time.Since(begin)
	close(stop)
	for _, w := range rec.Profiles() {
		report.Window += w.Duration()
		parsed, err := w.Parsed()
		if err != nil {
			return err
		}
		l := looks.Parse(parsed.Comments)
		for _, i := range l.Long {
			report.Longest = max(report.Longest, i.Watched)
		}
		for id, begin := range requests {
			report.Lacks[id] += l.Unwatched(begin, begin.Add(report.Took[id]))
		}
		for _, s := range parsed.Sample {
			report.Seen[s.Label["span_id"][0]] += time.Duration(s.Value[1])
		}
	}
	report.Unwatched, report.Freezes = status.Unwatched, status.Freezes
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
