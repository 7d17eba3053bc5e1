// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// An error that is a nil pointer in an interface panics when it is looked at, and so
// does an error whose own methods do. Neither may end the program.
func TestLaneOutlivesBadErrors(t *testing.T) {
	var (
		path  *fs.PathError
		retry *exporter.RetryError
	)
	for name, test := range map[string]struct {
		bad  error
		want string
	}{
		"a nil *fs.PathError":        {path, "panic: "},
		"a nil *exporter.RetryError": {retry, "panic: "},
		"a nil one that is wrapped":  {fmt.Errorf("send: %w", retry), "panic: "},
	} {
		t.Run(name, func(t *testing.T) {
			reported := reports(t)
			synctest.Test(t, func(t *testing.T) {
				m := exporter.NewMulti(&sink{export: func(context.Context, string) error { return test.bad }})
				push(t, m, 0)
				if err := m.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 failed: "+test.want) {
					t.Errorf("ForceFlush: %v, want the failure", err)
				}
				check(t, m, exporter.LaneStatus{Failed: 1})
				if err := m.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}

				q := newQueue(t, &destination{send: func(context.Context, string) error { return test.bad }})
				export(t, q, "a")
				if err := q.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
				wantStats(t, q, exporter.LaneStatus{Rejected: 1})
				shutdown(t, q)
			})
			if got := reported(); len(got) != 2 || !strings.Contains(got[0], test.want) || !strings.Contains(got[1], test.want) {
				t.Errorf("reported %q, want %q twice", got, test.want)
			}
		})
	}
}

// What was given up by Shutdown has not been delivered, though one of the attempts
// then succeeds at once.
func TestQueueForceFlushWhileShutdownGivesUp(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t, &destination{send: func(ctx context.Context, _ string) error { <-ctx.Done(); return nil }}, exporter.WithSpill(dir))
			export(t, q, "a", "b")
			flushed := make(chan error, 1)
			go func() { flushed <- q.ForceFlush(t.Context()) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := q.Shutdown(ctx); err == nil {
				t.Error("Shutdown returned nil, though b was not sent")
			}
			if err := <-flushed; !errors.Is(err, exporter.ErrShutdown) {
				t.Fatalf("ForceFlush: %v, want ErrShutdown: b was not sent", err)
			}
			synctest.Wait()
		})
		for _, name := range files(t, dir) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A profile that is being encoded when Shutdown gives up gets into a file a moment
// later: there it stays, for the next Queue.
func TestQueueKeepsWhatItWasEncoding(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		counts := &meter{sums: map[string]float64{}}
		d := &cuttingSlowly{release: make(chan struct{})}
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithMeterProvider(meterProvider{meter: counts}))
		m := exporter.NewMulti(q)
		for range 2 { // the second one is not looked at
			if err := m.Export(t.Context(), named("slow")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "2 profile(s) not exported") {
			t.Errorf("Shutdown: %v, want two that were not exported in time", err)
		}
		counts.collect(t)
		close(d.release)
		synctest.Wait()
		wantStats(t, q, exporter.LaneStatus{Kept: 1, Unsent: 1})
		wantFiles(t, dir, 1)
		for name, n := range counts.collect(t) {
			if n < 0 {
				t.Errorf("the counter %s has gone down to %v", name, n)
			}
		}

		q = newQueue(t, new(destination), exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 1})
		shutdown(t, q)
	})
}

// A part that cannot be encoded, because it is nil or has a nil function, costs the others
// nothing, and the program neither.
func TestQueueOutlivesBadProfiles(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	bad := exporter.NewParsedProfile(exporter.Window{}, &profile.Profile{Function: []*profile.Function{nil}})
	synctest.Test(t, func(t *testing.T) {
		d := &adding{parts: []*exporter.Profile{nil, bad}}
		q := newQueue(t, d, exporter.WithSpill(dir))
		if err := q.Export(t.Context(), named("a")); err == nil || strings.Count(err.Error(), "panic: ") != 2 {
			t.Errorf("Export: %v, want two panics", err)
		}
		m := exporter.NewMulti(q)
		if err := m.Export(t.Context(), named("b")); err != nil {
			t.Error(err)
		}
		if err := m.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "4 unreadable") {
			t.Errorf("ForceFlush: %v, want what was lost", err)
		}
		wantTaken(t, &d.destination, "a", "b")
		wantStats(t, q, exporter.LaneStatus{Exported: 2, Unreadable: 4})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

// adding is a destination that adds parts to every profile.
type adding struct {
	destination
	parts []*exporter.Profile
}

func (a *adding) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	return append([]*exporter.Profile{p}, a.parts...), nil
}

func TestNewQueueRefuses(t *testing.T) {
	for want, start := range map[string]func() (*exporter.Queue, error){
		"the queue has no name":        func() (*exporter.Queue, error) { return exporter.NewQueue("", new(destination)) },
		"test: the destination is nil": func() (*exporter.Queue, error) { return exporter.NewQueue("test", nil) },
		"WithSpillSync without WithSpill": func() (*exporter.Queue, error) {
			return exporter.NewQueue("test", new(destination), exporter.WithSpillSync())
		},
	} {
		if _, err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewQueue: %v, want %q", err, want)
		}
	}
}
