// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

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
//
// SPANPROF_TRIALS sets how many processes die; what is found after each is in the log:
//
//	SPANPROF_TRIALS=100 go test -count=1 -v -timeout 30m -run '^TestKills$' ./inprocess
func TestKills(t *testing.T) {
	kills := 30
	if testing.Short() {
		kills = 8
	}
	if s := os.Getenv("SPANPROF_TRIALS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	dir := t.TempDir()
	var all []kept
	for n := 1; n <= kills; n++ {
		k := killed(t, dir)
		all = append(all, k)
		wantKept(t, dir, fmt.Sprint("kill ", n), []kept{k}, all)
		if t.Failed() {
			return
		}
	}
	t.Logf("after each of %d kills the last window, its slowest span and the slowest spans of all processes were there with all of their samples", kills)
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
	d := s.Stats().Directory
	if d.FilesSetAside+d.FilesUnreadable+d.WriteFailures > 0 {
		t.Errorf("%s: %+v", round, d)
	}
	t.Logf("%s: %d windows and %d spans are there, %d files are damaged, the slowest span took %v and has %d samples",
		round, d.Windows, d.Spans, d.FilesSetAside, time.Duration(all[0].duration), all[0].cpu)
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
