// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// down refuses everything.
func down(context.Context, string) error {
	return &exporter.RetryError{Err: errors.New("connection refused"), Refused: true}
}

// leave exports profiles that a Queue cannot send, and shuts it down: they are
// kept, with those that were in dir before.
func leave(t *testing.T, dir string, names ...string) {
	t.Helper()
	kept := len(files(t, dir)) + len(names) // later an attempt may be renaming its file
	q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir))
	export(t, q, names...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d profile(s) kept in %s for the next start", kept, dir)) {
		t.Errorf("Shutdown: %v", err)
	}
	if got := q.Stats(); got.Kept != uint64(kept) || got.Dropped() != 0 {
		t.Errorf("Stats %+v, want %d kept", got, kept)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "spanprof.lock" })
}

func wantFiles(t *testing.T, dir string, n int) {
	t.Helper()
	if got := files(t, dir); len(got) != n {
		t.Errorf("%d files, want %d: %v", len(got), n, got)
	}
}

func TestSpillSurvives(t *testing.T) {
	reports(t)
	dir := filepath.Join(t.TempDir(), "made", "for us")
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", "b")
		wantFiles(t, dir, 2)
		<-time.After(time.Minute)
		synctest.Wait()
		leave(t, dir) // one start that sends nothing either
		wantFiles(t, dir, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithSpillSync())
		export(t, q, "c")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := d.names(); len(got) != 3 || got[2] != "c" {
			t.Errorf("taken %q, want a and b, then c", got)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 3})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

// Only what was tried before a restart, and perhaps taken, counts as a duplicate.
func TestSpillKnowsWhatWasTried(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answers := []error{
			&exporter.RetryError{Err: errors.New("500"), After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Second},
			&exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Minute},
		}
		d := new(destination)
		d.send = func(_ context.Context, name string) error { return answers[len(d.at)-1] }
		q := newQueue(t, d, exporter.WithSpill(dir))
		export(t, q, "perhaps taken, then refused", "refused", "refused", "not tried")
		<-time.After(10 * time.Second)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := q.Shutdown(ctx); err == nil || len(d.at) != 4 {
			t.Errorf("Shutdown after %d attempts: %v", len(d.at), err)
		}
		wantFiles(t, dir, 4)

		q = newQueue(t, new(destination), exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 4, Duplicates: 1})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

func TestSpillTooOld(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a")
		<-time.After(5 * time.Minute)
		q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir), exporter.WithSpillMaxAge(10*time.Minute))
		export(t, q, "b")
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if got := q.Stats(); got.Expired != 1 || got.Waiting != 1 {
			t.Errorf("Stats %+v, want a expired and b waiting", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil {
			t.Error("Shutdown has sent it")
		}
		wantFiles(t, dir, 1)

		<-time.After(5 * time.Minute)
		synctest.Wait()
		d := new(destination)
		q = newQueue(t, d, exporter.WithSpill(dir), exporter.WithSpillMaxAge(10*time.Minute))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d)
		wantStats(t, q, exporter.LaneStatus{Expired: 1})
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
	if got := reported(); !strings.Contains(strings.Join(got, "\n"), "1 profile(s) dropped: not delivered within 10m0s") {
		t.Errorf("reported %q", got)
	}
}

func TestSpillDamaged(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "aaaa", "bbbb", "cccc", "dddd")
		all := files(t, dir)
		if err := os.Truncate(all[0], 10); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(all[1])
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1]++
		if err := os.WriteFile(all[1], b, 0o600); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "notes.txt")
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		d := &destination{send: func(context.Context, string) error { return os.Remove(all[3]) }}
		q := newQueue(t, d, exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 1, Unreadable: 3})
		shutdown(t, q)
		want := []string{all[0] + ".damaged", all[1] + ".damaged", other}
		if left := files(t, dir); !slices.Equal(left, want) {
			t.Errorf("files %v, want the one that is not ours, and the damaged set aside", left)
		}
		// The next start leaves them alone.
		q = newQueue(t, d, exporter.WithSpill(dir))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{})
		shutdown(t, q)
		wantFiles(t, dir, 3)
	})
	if got := reported(); len(got) < 3 {
		t.Errorf("reported %q", got)
	}
}

func TestSpillBelongsToOneQueue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := newQueue(t, new(destination), exporter.WithSpill(dir))
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(dir)); err == nil || !strings.Contains(err.Error(), "in use already: name another one for each queue") {
			t.Errorf("NewQueue with the directory of another: %v", err)
		}
		shutdown(t, first)
		shutdown(t, newQueue(t, new(destination), exporter.WithSpill(dir)))
		// A Queue that does not come about does not keep the directory.
		m := &meter{fail: errors.New("no counters")}
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(dir), exporter.WithMeterProvider(meterProvider{meter: m})); err == nil {
			t.Error("no error of the metrics")
		}
		shutdown(t, newQueue(t, new(destination), exporter.WithSpill(dir)))
	})
}

// One file that is larger than the Queue does not take the others along.
func TestSpillOversized(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", strings.Repeat("x", 1000), "b")
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithMaxBytes(900))
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Full: 1, Exported: 2})
		wantFiles(t, dir, 0)
		// With its header the file is larger than the Queue, the profile is not.
		if err := q.Export(t.Context(), named(strings.Repeat("x", 890))); err == nil {
			t.Error("no error")
		}
		wantFiles(t, dir, 0)
		shutdown(t, q)
	})
}

func TestSpillBounded(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, "a", "b", "c", "d")
		q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir), exporter.WithMaxBytes(500))
		for range 10 {
			export(t, q, strings.Repeat("x", 100))
		}
		s := q.Stats()
		if s.Bytes > 500 || s.Full == 0 || s.Full+uint64(s.Waiting) != 14 {
			t.Errorf("Stats %+v", s)
		}
		wantFiles(t, dir, s.Waiting)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil {
			t.Error("Shutdown has sent it")
		}
	})
}

// A destination that does not listen to its context delivers after Shutdown has
// given up: the next Queue must not do it again.
func TestSpillDeliveredLate(t *testing.T) {
	for _, tt := range []struct {
		outcome error
		want    exporter.LaneStatus
	}{
		{nil, exporter.LaneStatus{Exported: 1, Kept: 1}},
		{&exporter.RetryError{Err: errors.New("500")}, exporter.LaneStatus{Kept: 2}},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			q := newQueue(t, &destination{send: func(context.Context, string) error { <-release; return tt.outcome }}, exporter.WithSpill(dir))
			export(t, q, "a", "b")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "2 profile(s) kept") {
				t.Errorf("Shutdown: %v", err)
			}
			close(release)
			synctest.Wait()
			wantStats(t, q, tt.want)
			wantFiles(t, dir, int(tt.want.Kept))
		})
	}
}

func TestSpillFails(t *testing.T) {
	reported := reports(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := exporter.NewQueue("test", new(destination), exporter.WithSpill(file)); err == nil || !strings.HasPrefix(err.Error(), "test: spill directory: ") {
			t.Errorf("NewQueue with a file for a directory: %v", err)
		}

		gone := filepath.Join(dir, "gone")
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(gone))
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		export(t, q, "a")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d, "a")
		wantStats(t, q, exporter.LaneStatus{Exported: 1, NotSpilled: 1})
		shutdown(t, q)
	})
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "a cpu profile waits in memory") {
		t.Errorf("reported %q", got)
	}
}

// A directory that cannot be written does not have memory take what is meant for a disk:
// the oldest of what waits there make room, and what is in files stays.
func TestSpillBoundsMemory(t *testing.T) {
	reports(t)
	// Not the bubble's own: the queue may still move files there when Shutdown has
	// given up, and until the bubble ends.
	dir := filepath.Join(t.TempDir(), "spill")
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		hold := make(chan struct{}) // what is in the file is being sent while there is no directory
		d := &destination{send: func(ctx context.Context, name string) error { <-hold; return down(ctx, name) }}
		q := newQueue(t, d, exporter.WithSpill(dir), exporter.WithMaxBytes(1<<30))
		sized := func(first byte, n int) string { return string(first) + strings.Repeat("x", n-1) }
		export(t, q, sized('f', 40*mib)) // in a file, which may be larger
		synctest.Wait()
		away := dir + ".away"
		if err := os.Rename(dir, away); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			export(t, q, sized(byte(i), mib))
		}
		if s := q.Stats(); s.Full != 8 || s.NotSpilled != 40 || s.Waiting != 33 || s.Bytes > 73*mib {
			t.Errorf("%+v, want 32 of 40 MiB to wait in memory beside one file", s)
		}
		if err := q.Export(t.Context(), named(sized('l', 33*mib))); err == nil || !strings.Contains(err.Error(), "no room in memory for a cpu profile of 34603008 bytes") {
			t.Errorf("Export of more than may wait in memory: %v", err)
		}
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
		close(hold)
		<-time.After(2 * time.Second)
		synctest.Wait()
		wantFiles(t, dir, 33)
		for i := range 40 {
			export(t, q, sized(byte(i), mib)) // beyond what memory has room for
		}
		if s := q.Stats(); s.Full != 9 || s.NotSpilled != 41 || s.Waiting != 73 {
			t.Errorf("%+v, want that nothing more is dropped once files can be written", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "73 profile(s) kept") {
			t.Errorf("Shutdown: %v", err)
		}
	})
}
