// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/store"
)

// kept is a line of a child's report.
type kept struct {
	start, samples int64
	id             string
	duration, cpu  int64
}

// killed runs a child until a random moment, and returns the last line of its report. It is
// an error if ctx ends first.
func killed(ctx context.Context, t *testing.T, dir string) (last kept) {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0])
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
		t.Errorf("got %d reports of the child until its end (%v), want %d: %s", told, ctx.Err(), after, failure.String())
		return last
	}
	kill.Stop()
	return last
}

// opened returns a store that has read a directory.
func opened(t *testing.T, dir string) (*store.Store, store.View) {
	t.Helper()
	s, err := store.New(store.WithDirectory(dir, directoryBytes))
	if err != nil {
		t.Fatal(err)
	}
	restored(t, s)
	v, err := s.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// restored returns when a store has read its directory.
func restored(t *testing.T, s *store.Store) {
	t.Helper()
	for bound := livetest.Context(t, livetest.Most); s.Stats().Directory.Restoring; time.Sleep(time.Millisecond) {
		if bound.Err() != nil {
			t.Fatalf("the directory is not read within %v: %+v", livetest.Most, s.Stats().Directory)
		}
	}
}

// spanIn returns the span with an id.
func spanIn(v store.View, id string) (span store.Span, ok bool, err error) {
	list, err := v.Spans(store.SpanQuery{ID: id})
	if len(list.Spans) == 0 {
		return span, false, err
	}
	return list.Spans[0], true, err
}

// Processes die at random moments under load. After each, a new process finds the last closed
// window and the slowest spans of all processes, with their samples.
//
// SPANPROF_TRIALS sets the number of processes, and lifts the bound of a minute. The log has
// the findings after each:
//
//	SPANPROF_TRIALS=100 go test -tags live -count=1 -v -timeout 30m -run '^TestKills$' ./inprocess
func TestKills(t *testing.T) {
	kills := 8
	ctx := livetest.Context(t, livetest.Most)
	if s := os.Getenv("SPANPROF_TRIALS"); s != "" {
		ctx = t.Context()
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	dir := t.TempDir()
	var all []kept
	for n := 1; n <= kills; n++ {
		k := killed(ctx, t, dir)
		if t.Failed() {
			t.Fatalf("got %d kills, want %d", n-1, kills)
		}
		all = append(all, k)
		wantKept(t, dir, fmt.Sprint("kill ", n), k, all)
	}
	t.Logf("after each of %d kills the last window, its slowest span and the slowest spans of all processes were there with all of their samples", kills)
}

// wantKept opens a directory and compares it with the reports of the last process and of all:
// the window of the last, its span, and the slowest spans of all.
func wantKept(t *testing.T, dir, round string, last kept, all []kept) {
	t.Helper()
	s, v := opened(t, dir)
	defer func() {
		v.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	windows, err := v.Windows()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(windows, func(w store.WindowInfo) bool {
		return w.Start.UnixNano() == last.start && w.Samples == last.samples && w.Earlier
	}) {
		t.Errorf("%s: the window of %d with %d samples is missing among %d", round, last.start, last.samples, len(windows))
	}
	slices.SortFunc(all, func(a, b kept) int { return int(b.duration - a.duration) })
	for _, want := range append([]kept{last}, all[:min(3, len(all))]...) {
		span, ok, err := spanIn(v, want.id)
		if err != nil || !ok || int64(span.Duration) != want.duration || span.CPUSamples < want.cpu || span.SamplesHeld < want.cpu || !span.Earlier || span.Name != "GET /slow" {
			t.Errorf("%s: want the span %+v, got %+v, %v", round, want, span, err)
		}
		m, err := store.NewMatcher("span_id", store.MatchEqual, want.id)
		if err != nil {
			t.Fatal(err)
		}
		sel, err := v.Samples(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
		if err != nil || sel.Total != int64(span.CPU) {
			t.Errorf("%s: the samples of %s sum to %v, want %v: %v", round, want.id, sel.Total, span.CPU, err)
		}
	}
	d := s.Stats().Directory
	if d.FilesUnreadable+d.WriteFailures > 0 {
		t.Errorf("%s: %+v", round, d)
	}
	t.Logf("%s: %d windows and %d spans are there, %d files are damaged, the slowest span took %v and has %d samples",
		round, d.Windows, d.Spans, d.FilesUnreadable, time.Duration(all[0].duration), all[0].cpu)
}
