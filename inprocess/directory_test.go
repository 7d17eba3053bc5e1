// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

const (
	// directoryVariable names the directory of a child that serves until it is killed.
	directoryVariable = "SPANPROF_TEST_DIRECTORY"
	// unflushedVariable has it write what it writes by itself.
	unflushedVariable = "SPANPROF_TEST_UNFLUSHED"
	directoryBytes    = 16 << 20
)

// serveUntilKilled does the work of requests and writes, after each window that its store has
// taken and written to files, what must be there after its death: the start of the window, and of
// the slowest span with samples the id, the duration and the number of samples.
func serveUntilKilled(dir string) {
	ctx := context.Background()
	tp, res := providerOf()
	p, err := inprocess.Start(tp, inprocess.WithResource(res), inprocess.WithDirectory(dir, directoryBytes),
		inprocess.WithKinds(exporter.KindCPU), inprocess.WithWindow(200*time.Millisecond),
		inprocess.WithProfilerOptions(profiler.WithCPURate(200)))
	if err != nil {
		panic(err)
	}
	var load sync.WaitGroup
	for range 2 {
		load.Go(func() {
			for {
				_, span := tp.Tracer("").Start(ctx, "GET /quick")
				work(time.Duration(rand.IntN(int(2 * time.Millisecond))))
				span.End()
			}
		})
	}
	for {
		_, span := tp.Tracer("").Start(ctx, "GET /slow")
		work(time.Duration(20+rand.IntN(60)) * time.Millisecond)
		span.End()
		if os.Getenv(unflushedVariable) != "" {
			continue
		}
		if err := p.Flush(ctx); err != nil {
			panic(err)
		}
		tell(ctx, p.Store())
	}
}

func tell(ctx context.Context, s *store.Store) {
	v, err := s.View(ctx)
	if err != nil {
		panic(err)
	}
	defer v.Close()
	windows, err := v.Windows(store.WindowQuery{})
	if err != nil {
		panic(err)
	}
	spans, err := v.Spans(store.SpanQuery{Name: "GET /slow", Order: store.Slowest})
	if err != nil {
		panic(err)
	}
	for _, span := range spans {
		if span.Earlier == nil && span.CPUSamples > 0 && span.Complete {
			last := windows[len(windows)-1]
			// A window may have come since the last flush.
			if err := s.ForceFlush(ctx); err != nil {
				panic(err)
			}
			fmt.Println("kept", last.Start.UnixNano(), last.Samples, span.ProfileID, int64(span.Duration), span.CPUSamples)
			return
		}
	}
}

// kept is what a child has told.
type kept struct {
	start, samples int64
	id             string
	duration, cpu  int64
}

// killed runs a child until a moment that nobody has chosen, and returns what it told last.
func killed(t *testing.T, dir string) (last kept) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), directoryVariable+"="+dir)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return last
	}
	told, after := 0, 1+rand.IntN(3)
	var kill *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var k kept
		if _, err := fmt.Sscanf(lines.Text(), "kept %d %d %s %d %d", &k.start, &k.samples, &k.id, &k.duration, &k.cpu); err != nil {
			t.Errorf("%q: %v", lines.Text(), err)
		}
		last = k
		if told++; told == after {
			kill = time.AfterFunc(time.Duration(rand.IntN(int(300*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	if kill == nil {
		t.Errorf("the child ended by itself: %s", failure.String())
		return last
	}
	kill.Stop()
	return last
}

// opened returns a store of a directory, once it has read it.
func opened(t *testing.T, dir string) (*store.Store, store.View) {
	t.Helper()
	s, err := store.New(store.WithDirectory(dir, directoryBytes))
	if err != nil {
		t.Fatal(err)
	}
	for s.Stats().Directory.Restoring {
		time.Sleep(time.Millisecond)
	}
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// Thirty processes die at any moment under load. After each, the last window that was
// closed and the slowest spans of all of them are there with their samples.
func TestKills(t *testing.T) {
	dir := t.TempDir()
	var all []kept
	for round := range 30 {
		k := killed(t, dir)
		all = append(all, k)
		wantKept(t, dir, fmt.Sprint("round ", round), []kept{k}, all)
		if t.Failed() {
			return
		}
	}
}

// wantKept opens a directory and looks for the windows of the last processes, for their spans,
// and for the slowest spans of all.
func wantKept(t *testing.T, dir, round string, last, all []kept) {
	t.Helper()
	s, v := opened(t, dir)
	defer func() {
		v.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	windows, err := v.Windows(store.WindowQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range last {
		if !slices.ContainsFunc(windows, func(w store.WindowInfo) bool {
			return w.Start.UnixNano() == k.start && w.Samples == k.samples && w.Earlier != nil
		}) {
			t.Errorf("%s: the window of %d with %d samples is missing among %d", round, k.start, k.samples, len(windows))
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return int(b.duration - a.duration) })
	for _, want := range slices.Concat(last, all[:min(3, len(all))]) {
		span, ok, err := v.Span(want.id)
		if err != nil || !ok || int64(span.Duration) != want.duration || span.CPUSamples < want.cpu || span.SamplesHeld < want.cpu || span.Earlier == nil || span.Name != "GET /slow" {
			t.Errorf("%s: want the span %+v, got %+v, %v", round, want, span, err)
		}
		m, err := store.NewMatcher("span_id", store.MatchEqual, want.id)
		if err != nil {
			t.Fatal(err)
		}
		sel, err := v.Select(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
		if err != nil || sel.Total != int64(span.CPU) {
			t.Errorf("%s: the samples of %s sum to %v, want %v: %v", round, want.id, sel.Total, span.CPU, err)
		}
	}
	if d := s.Stats().Directory; d.FilesSetAside+d.FilesUnreadable+d.WriteFailures > 0 {
		t.Errorf("%s: %+v", round, d)
	}
}

// Pairs of processes start at the same time in one directory, and die. What both had
// written is there for the next pair, and for the one that looks.
func TestTwoProcessesInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	var all []kept
	for round := range 5 {
		var (
			pair [2]kept
			both sync.WaitGroup
		)
		for i := range pair {
			both.Go(func() { pair[i] = killed(t, dir) })
		}
		both.Wait()
		if t.Failed() {
			return
		}
		all = append(all, pair[:]...)
		wantKept(t, dir, fmt.Sprint("round ", round), pair[:], all)
	}
}

// What a process has written by itself, window after window, is there after a kill.
func TestKillWithoutFlush(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), directoryVariable+"="+dir, unflushedVariable+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	files := func(pattern string) []string {
		found, err := filepath.Glob(filepath.Join(dir, "*-run-*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for len(files("*-cpu.pprof.gz")) < 4 || len(files("*-spans.jsonl.gz")) < 3 {
		select {
		case <-ended:
			t.Fatalf("the child ended by itself: %v", cmd.ProcessState)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	s, v := opened(t, dir)
	defer func() {
		v.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	windows, err := v.Windows(store.WindowQuery{})
	if err != nil || len(windows) != len(files("*-cpu.pprof.gz")) {
		t.Errorf("%d windows of %d files: %v", len(windows), len(files("*-cpu.pprof.gz")), err)
	}
	slow := 0
	for _, file := range files("*-spans.jsonl.gz") {
		for _, want := range spansOf(t, file) {
			span, ok, err := v.Span(want.ID)
			if err != nil || !ok || int64(span.Duration) != want.Duration || span.CPUSamples != want.Samples || span.SamplesHeld != want.Samples || span.Earlier == nil {
				t.Errorf("%s: want %+v, got %+v, %v", filepath.Base(file), want, span, err)
			}
			if want.Name == "GET /slow" && want.Samples > 0 {
				slow++
			}
		}
	}
	if slow == 0 {
		t.Error("the files have no slow span with samples")
	}
	if d := s.Stats().Directory; d.FilesSetAside+d.FilesUnreadable > 0 {
		t.Errorf("%+v", d)
	}
}

// spanLine is what a test reads of a line of a file of spans.
type spanLine struct {
	ID       string `json:"span_id"`
	Name     string `json:"name"`
	Duration int64  `json:"duration_ns"`
	Samples  int64  `json:"cpu_samples"`
}

// spansOf reads a file as any tool does.
func spansOf(t *testing.T, file string) (spans []spanLine) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(z)
	var first json.RawMessage
	for err = lines.Decode(&first); err == nil; {
		var s spanLine
		if err = lines.Decode(&s); err == nil {
			spans = append(spans, s)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", file, err)
	}
	return spans
}

// After the restart the page has what was slow before, marked in HTML's data and in text.
func TestPageAfterRestart(t *testing.T) {
	dir := t.TempDir()
	tp, res := newTracerProvider(t)
	opts := []inprocess.Option{inprocess.WithResource(res), inprocess.WithDirectory(dir, directoryBytes), inprocess.WithKinds(exporter.KindCPU)}
	first, err := inprocess.Start(tp, opts...)
	if err != nil {
		t.Fatal(err)
	}
	settle := func() {
		if err := first.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	span := untilSampled(t, first, settle, func(d time.Duration) string {
		_, span := tp.Tracer("").Start(t.Context(), "GET /slow")
		work(d)
		span.End()
		return span.SpanContext().SpanID().String()
	})
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := inprocess.Start(tp, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for second.Store().Stats().Directory.Restoring {
		time.Sleep(time.Millisecond)
	}
	pid := strconv.Itoa(os.Getpid())
	for path, wants := range map[string][]string{
		"/?format=text": {"GET /slow [earlier process]", span.ProfileID},
		"/?format=json": {`"earlier":{"started":"`, `"pid":` + pid, `"service":"shop"`},
		"/?format=text&query=.cpu%7Bprofile_id=%22" + span.ProfileID + "%22%7D": {"this span is of an earlier process, started ", "pid " + pid, "inprocess_test.work"},
		"/log?format=text": {" of earlier processes ", "of an earlier process, started"},
		"/log?format=json": {`"directory":{"path":"` + dir, `"windows":`},
	} {
		w := httptest.NewRecorder()
		second.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(w.Body.String(), "\n         ", " "), want) {
				t.Errorf("%s lacks %q:\n%s", path, want, w.Body)
			}
		}
	}
	// What an earlier process has left is no share of this one's.
	if s := second.Store().Stats(); s.CPUTime != 0 || s.Spans != 0 || s.SpansEnded != 0 {
		t.Errorf("%+v", s)
	}
}

func TestStartWithBadDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tp, _ := newTracerProvider(t)
	if p, err := inprocess.Start(tp, inprocess.WithDirectory(file, directoryBytes)); err == nil || p != nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Start: %v, want an error that names %s", err, file)
	}
}
