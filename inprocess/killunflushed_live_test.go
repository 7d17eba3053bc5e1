// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/store"
)

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
	// The worker may have written spans before the window with their last samples. Spans that
	// ended before the start of the last window on the disk have all samples.
	lastWindow := func() int64 {
		windows := files("*-cpu.pprof.gz")
		if len(windows) == 0 {
			return 0
		}
		stamp, _, _ := strings.Cut(filepath.Base(windows[len(windows)-1]), "-")
		at, err := time.Parse("20060102T150405.000000000Z", stamp)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixNano()
	}
	// A span that was written before the samples of its last window is written again. The later
	// line counts.
	spans := func() map[string]spanLine {
		all := make(map[string]spanLine)
		for _, file := range files("*Z-spans.jsonl.gz") {
			for _, s := range spansOf(t, file) {
				all[s.ID] = s
			}
		}
		return all
	}
	slow := func() (n int) {
		last := lastWindow()
		for _, s := range spans() {
			if s.Name == "GET /slow" && s.Samples > 0 && s.Start+s.Duration < last {
				n++
			}
		}
		return n
	}
	for bound := livetest.Context(t, livetest.Most); slow() < 3; {
		select {
		case <-bound.Done():
			t.Fatalf("got %d slow spans with samples within %v, want 3", slow(), livetest.Most)
		case <-ended:
			t.Fatalf("the child ended by itself: %v", cmd.ProcessState)
		case <-time.After(100 * time.Millisecond):
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
	last := lastWindow()
	for _, want := range spans() {
		span, ok, err := v.Span(want.ID)
		if err != nil || !ok || int64(span.Duration) != want.Duration || span.CPUSamples != want.Samples || span.SamplesHeld > want.Samples || span.Earlier == nil {
			t.Errorf("want %+v, got %+v, %v", want, span, err)
		}
		if want.Start+want.Duration < last && span.SamplesHeld != want.Samples {
			t.Errorf("%+v ended before the last window, and %d of its samples are held", want, span.SamplesHeld)
		}
	}
	if d := s.Stats().Directory; d.FilesUnreadable > 0 {
		t.Errorf("%+v", d)
	}
}

// spanLine is what a test reads of a line of a file of spans.
type spanLine struct {
	ID       string `json:"span_id"`
	Name     string `json:"name"`
	Start    int64  `json:"start_ns"`
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
