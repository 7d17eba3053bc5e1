// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
)

func TestLaneContainsFailuresAndPanics(t *testing.T) {
	reported := reports(t)
	failure := errors.New("refused")
	s := &sink{
		export: func(_ context.Context, item string) error {
			switch item {
			case "0":
				return failure
			case "1":
				panic("out of order")
			}
			return nil
		},
		forceFlush: func(context.Context) error { panic("flush") },
		shutdown:   func(context.Context) error { panic("shutdown") },
	}
	q := exporter.NewMulti(s)
	push(t, q, 0, 1, 2)
	if err := q.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: flush") {
		t.Errorf("Flush: %v, want the panic", err)
	}
	if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: shutdown") {
		t.Errorf("Shutdown: %v, want the panic", err)
	}
	check(t, q, exporter.LaneStatus{Exported: 1, Failed: 2})

	noWorkers(t)
	got := reported()
	if len(got) != 2 || !strings.Contains(got[0], "refused") ||
		!strings.Contains(got[1], "panic: out of order") || !strings.Contains(got[1], "lane_test.go") {
		t.Errorf("reported %v, want the failure and the panic with its stack", got)
	}
}

// What failed last stands last in a program's log.
func TestLaneReportsInOrder(t *testing.T) {
	failures := []string{"refused", "unknown", "closed"}
	for range 1000 {
		reported := reports(t)
		s := &sink{export: func(_ context.Context, item string) error {
			i, err := strconv.Atoi(item)
			if err != nil {
				return err
			}
			return errors.New(failures[i])
		}}
		q := exporter.NewMulti(s)
		push(t, q, 0, 1, 2)
		if err := q.Shutdown(t.Context()); err == nil {
			t.Error("Shutdown does not say that profiles are lost")
		}
		noWorkers(t)
		want := []string{"exporter_test.sink: refused", "exporter_test.sink: unknown", "exporter_test.sink: closed"}
		if diff := cmp.Diff(want, reported()); diff != "" {
			t.Fatalf("reports (-want +got):\n%s", diff)
		}
	}
}

// A test double that calls t.Fatal is one way to get there.
func TestLaneOutlivesGoexit(t *testing.T) {
	reported := reports(t)
	s := &sink{
		export: func(_ context.Context, item string) error {
			if item == "0" {
				runtime.Goexit()
			}
			return nil
		},
		forceFlush: func(context.Context) error { runtime.Goexit(); return nil },
		shutdown:   func(context.Context) error { runtime.Goexit(); return nil },
	}
	q := exporter.NewMulti(s)
	push(t, q, 0, 1)
	if err := q.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Flush: %v, want the Goexit", err)
	}
	if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Shutdown: %v, want the Goexit", err)
	}
	check(t, q, exporter.LaneStatus{Exported: 1, Failed: 1})
	if diff := cmp.Diff([]string{"0", "1", "flush", "shutdown"}, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	noWorkers(t)
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "lane_test.go") {
		t.Errorf("reported %v, want the Goexit with its stack", got)
	}
}

func TestLaneHasNoLabels(t *testing.T) {
	const key = "lane_test_label"
	s := new(sink)
	var q *exporter.Multi
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { q = exporter.NewMulti(s) })
	// The worker has cleared its labels before it answers.
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), key) {
		t.Errorf("a goroutine has kept its creator's labels:\n%s", &b)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
