// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

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
	"github.com/spanprof/spanprof/internal/exportertest"
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
)

// frozenReport is what the child says at its end.
type frozenReport struct {
	// Least and Most are how long each span took by the child's clock: it may lose its CPU
	// while it takes the time. Seen is how long by samples.
	Least, Most, Seen map[string]time.Duration
	// Lacks is what a span may lack that no look has found before, as the profiles state.
	// One that begins at the thaw may: where the sampler is late then, it may not know when
	// the freeze has ended.
	Lacks     map[string]time.Duration
	Window    time.Duration
	Longest   time.Duration // time between looks, without freezes, and with what is vague of it
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
	if n := len(got.Most); n != 2*freezes+1 {
		t.Errorf("%d spans, want %d", n, 2*freezes+1)
	}
	for id, most := range got.Most {
		least := got.Least[id]
		if seen := got.Seen[id]; seen > most+got.Longest || seen < least-got.Longest-got.Lacks[id] {
			t.Errorf("span %s took %v to %v and has %v with %v unwatched, want no more than %v more or less", id, least, most, seen, got.Lacks[id], got.Longest)
		}
	}
	// How many are told from a process that waits for a CPU depends on the machine.
	if got.Freezes == 0 || got.Unwatched == 0 || got.Unwatched > got.Window {
		t.Errorf("%v of %v in %d freezes were unwatched, want some", got.Unwatched, got.Window, got.Freezes)
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
	found := time.Now()
	// Two stops are one freeze where nobody has looked between them.
	looked := func() {
		for before := p.Status().Wall.Rounds; p.Status().Wall.Rounds < before+2; {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("ready")
	var mu sync.Mutex
	var spans sync.WaitGroup
	report := frozenReport{Least: make(map[string]time.Duration), Most: make(map[string]time.Duration), Seen: make(map[string]time.Duration), Lacks: make(map[string]time.Duration)}
	unseen := make(map[string][2]time.Time) // from when until when no look may have found a span
	// span is open for d; found tells when looks have found it, unless it is nil.
	span := func(d time.Duration, found <-chan time.Time) {
		begin := time.Now()
		_, s := tracer.Start(context.Background(), "span")
		began := time.Now()
		time.Sleep(d)
		least := time.Since(began)
		s.End()
		most := time.Since(begin)
		until := begin.Add(most)
		if found != nil {
			until = <-found
		}
		mu.Lock()
		defer mu.Unlock()
		report.Least[idOf(s)], report.Most[idOf(s)] = least, most
		unseen[idOf(s)] = [2]time.Time{begin, until}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "open":
			found := make(chan time.Time, 1)
			spans.Go(func() { span(freezeTime-requestTime, found) })
			looked()
			found <- time.Now()
		case "request":
			span(requestTime, nil)
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
	report.Least[lasting] = time.Since(found)
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	report.Most[lasting] = time.Since(begin)
	close(stop)
	for _, w := range rec.Profiles() {
		report.Window += w.Duration()
		parsed, err := w.Parsed()
		if err != nil {
			return err
		}
		l := looks.Parse(parsed.Comments)
		for _, i := range l.Long {
			report.Longest = max(report.Longest, i.Watched+i.Vague)
		}
		for id, times := range unseen {
			report.Lacks[id] += l.Unwatched(times[0], times[1])
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
