// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"bufio"
	"context"
	"fmt"
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
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
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
		t.Fatalf("the child ended by itself: %s", failure.String())
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
		s, v := opened(t, dir)
		windows, err := v.Windows(store.WindowQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(windows, func(w store.WindowInfo) bool {
			return w.Start.UnixNano() == k.start && w.Samples == k.samples && w.Earlier != nil
		}) {
			t.Errorf("round %d: the window of %d with %d samples is missing among %d", round, k.start, k.samples, len(windows))
		}
		slices.SortFunc(all, func(a, b kept) int { return int(b.duration - a.duration) })
		for _, want := range append([]kept{k}, all[:min(3, len(all))]...) {
			span, ok, err := v.Span(want.id)
			if err != nil || !ok || int64(span.Duration) != want.duration || span.CPUSamples < want.cpu || span.SamplesHeld < want.cpu || span.Earlier == nil || span.Name != "GET /slow" {
				t.Errorf("round %d: want the span %+v, got %+v, %v", round, want, span, err)
			}
			m, err := store.NewMatcher("span_id", store.MatchEqual, want.id)
			if err != nil {
				t.Fatal(err)
			}
			sel, err := v.Select(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
			if err != nil || sel.Total != int64(span.CPU) {
				t.Errorf("round %d: the samples of %s sum to %v, want %v: %v", round, want.id, sel.Total, span.CPU, err)
			}
		}
		if d := s.Stats().Directory; d.FilesSetAside+d.FilesUnreadable+d.WriteFailures > 0 {
			t.Errorf("round %d: %+v", round, d)
		}
		v.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
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
