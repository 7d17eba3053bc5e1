// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/store"
)

// What a process has written by itself, window after window, can be read while it runs. It is
// there after a kill.
func TestKillWithoutFlush(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), directoryVariable+"="+dir, unflushedVariable+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	var spans []store.Span
	windows := 0
	for bound := livetest.Context(t, livetest.Most); len(spans) < 3; {
		select {
		case <-bound.Done():
			t.Fatalf("got %d slow spans with samples in %d windows within %v, want 3", len(spans), windows, livetest.Most)
		case <-ended:
			t.Fatalf("the child ended by itself: %v", cmd.ProcessState)
		case <-time.After(100 * time.Millisecond):
		}
		spans, windows = slowIn(t, dir)
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
	if list, err := v.Windows(); err != nil || len(list) < windows {
		t.Errorf("%d windows, %d were there before the kill: %v", len(list), windows, err)
	}
	for _, want := range spans {
		span, ok, err := spanIn(v, want.ProfileID)
		if err != nil || !ok || span.Duration != want.Duration || span.CPUSamples < want.CPUSamples || span.SamplesHeld < want.SamplesHeld || !span.Earlier {
			t.Errorf("want %+v, got %+v, %v", want, span, err)
		}
	}
	if d := s.Stats().Directory; d.FilesUnreadable > 0 {
		t.Errorf("%+v", d)
	}
}

// slowIn returns the slow spans with samples in a directory, and its number of windows. A file
// that is being written may be left out.
func slowIn(t *testing.T, dir string) (slow []store.Span, windows int) {
	t.Helper()
	s, err := store.OpenDirectory(dir, func(error) {})
	if errors.Is(err, store.ErrNoRuns) {
		return nil, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := v.Windows()
	if err != nil {
		t.Fatal(err)
	}
	spans, err := v.Spans(store.SpanQuery{Name: "GET /slow"})
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range spans.Spans {
		if span.CPUSamples > 0 {
			slow = append(slow, span)
		}
	}
	return slow, len(list)
}
