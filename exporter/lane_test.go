// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
)

func TestLaneExportsInOrder(t *testing.T) {
	s := new(sink)
	q := exporter.NewMulti(s)
	for i := range 10 {
		push(t, q, i)
	}
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "flush"}, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, q, exporter.LaneStatus{Exported: 10})
}

func TestLaneShutdownDrains(t *testing.T) {
	s := new(sink)
	q := exporter.NewMulti(s)
	push(t, q, 0, 1, 2)
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "shutdown"}, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if err := q.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Errorf("Flush after Shutdown: %v", err)
	}
	if err := q.Export(t.Context(), windows(3)[0]); !errors.Is(err, exporter.ErrShutdown) {
		t.Errorf("Export after Shutdown: %v", err)
	}
	check(t, q, exporter.LaneStatus{Exported: 3, Unsent: 1})
}

func TestLaneReturnsTheSinksErrors(t *testing.T) {
	errFlush, errEnd := errors.New("flush"), errors.New("end")
	s := &sink{
		forceFlush: func(context.Context) error { return errFlush },
		shutdown:   func(context.Context) error { return errEnd },
	}
	q := exporter.NewMulti(s)
	if err := q.ForceFlush(t.Context()); !errors.Is(err, errFlush) {
		t.Errorf("Flush: %v", err)
	}
	if err := q.Shutdown(t.Context()); !errors.Is(err, errEnd) {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestLaneDropsTheOldest(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, string) error { <-release; return nil }}
		q := exporter.NewMulti(s)
		push(t, q, 0)
		synctest.Wait() // 0 is in Export; the rest waits
		for i := range 51 {
			push(t, q, 1+i)
		}
		check(t, q, exporter.LaneStatus{Full: 3, Waiting: 49})
		synctest.Wait()
		if got := reported(); len(got) != 1 || !strings.Contains(got[0], "dropped") {
			t.Errorf("reported %v, want one error about dropping", got)
		}

		close(release)
		if err := q.Shutdown(t.Context()); err == nil || err.Error() != "exporter_test.sink: 3 full" {
			t.Errorf("Shutdown: %v, want what was lost", err)
		}
		want := []string{"0"}
		for i := 4; i <= 51; i++ {
			want = append(want, strconv.Itoa(i))
		}
		want = append(want, "shutdown")
		if diff := cmp.Diff(want, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		check(t, q, exporter.LaneStatus{Exported: 49, Full: 3})
	})
}

// 32 MiB may wait.
func TestLaneIsBoundedInBytes(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, string) error { <-release; return nil }}
		q := exporter.NewMulti(s)
		push(t, q, 0)
		synctest.Wait() // 0 is in Export; the rest waits
		pushSized(t, q, 10, 11, 9, 2)
		check(t, q, exporter.LaneStatus{Waiting: 5})
		pushSized(t, q, 15) // 10 and 11 make room for it
		check(t, q, exporter.LaneStatus{Full: 2, Waiting: 4})
		pushSized(t, q, 99) // larger than all that may wait: it waits alone
		check(t, q, exporter.LaneStatus{Full: 5, Waiting: 2})
		pushSized(t, q, 1)
		check(t, q, exporter.LaneStatus{Full: 6, Waiting: 2})
		synctest.Wait()
		if got := reported(); len(got) != 1 || !strings.Contains(got[0], "dropped") {
			t.Errorf("reported %v, want one error about dropping", got)
		}

		close(release)
		if err := q.Shutdown(t.Context()); err == nil || err.Error() != "exporter_test.sink: 6 full" {
			t.Errorf("Shutdown: %v, want what was lost", err)
		}
		if diff := cmp.Diff([]string{"0", "1", "shutdown"}, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestLaneFlushWaitsForWhatIsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, string) error { <-release; return nil }}
		q := exporter.NewMulti(s)
		push(t, q, 0, 1)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.ForceFlush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v, want DeadlineExceeded", err)
		}

		flushed := make(chan error, 1)
		go func() { flushed <- q.ForceFlush(t.Context()) }()
		synctest.Wait()
		push(t, q, 2)
		release <- struct{}{}
		release <- struct{}{}
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"0", "1", "flush"}, s.calls()); diff != "" {
			t.Errorf("calls after Flush (-want +got):\n%s", diff)
		}
		close(release)
		if err := q.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The exporter honours its context: it is cancelled when Shutdown gives up, and
// then shut down.
// A destination that is away holds up who asked for a ForceFlush, and nobody else.
func TestLaneExportsDuringForceFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{forceFlush: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		q := exporter.NewMulti(s)
		push(t, q, 0)
		ctx, cancel := context.WithCancel(t.Context())
		canceled := make(chan error, 1)
		go func() { canceled <- q.ForceFlush(ctx) }()
		waits := make(chan error, 1)
		go func() { waits <- q.ForceFlush(t.Context()) }()
		synctest.Wait()
		push(t, q, 1, 2)
		synctest.Wait()
		check(t, q, exporter.LaneStatus{Exported: 3})
		cancel()
		if err := <-canceled; !errors.Is(err, context.Canceled) {
			t.Errorf("Flush: %v, want the error of its context", err)
		}
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-waits; !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("Flush: %v, want exporter.ErrShutdown", err)
		}
		if diff := cmp.Diff("shutdown", s.calls()[len(s.calls())-1]); diff != "" {
			t.Errorf("last call (-want +got):\n%s", diff)
		}
	})
}

// What a sink says when its time is over is worth a moment.
func TestLaneShutdownReturnsWhatTheSinkSays(t *testing.T) {
	errKept := errors.New("2 profile(s) kept")
	untilOver := func(ctx context.Context) error { <-ctx.Done(); return errKept }
	for name, test := range map[string]struct {
		sink *sink
		want string
	}{
		"during its Shutdown": {&sink{shutdown: untilOver}, "exporter_test.sink: 2 profile(s) kept"},
		"during an Export": {
			&sink{
				export:   func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() },
				shutdown: untilOver,
			},
			"exporter_test.sink: 1 profile(s) not exported: context deadline exceeded\nexporter_test.sink: 2 profile(s) kept",
		},
		"just in time": {
			&sink{
				export:   func(context.Context, string) error { return nil },
				shutdown: func(ctx context.Context) error { <-ctx.Done(); return nil },
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := exporter.NewMulti(test.sink)
				push(t, q, 0)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got := ""
				if err := q.Shutdown(ctx); err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestLaneShutdownGivesUp(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		s := &sink{export: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }}
		q := exporter.NewMulti(s)
		push(t, q, 0, 1, 2, 3)
		flushed := make(chan error, 1)
		go func() { flushed <- q.ForceFlush(t.Context()) }()
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := q.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "4 profile(s) not exported") {
			t.Errorf("Shutdown: %v, want DeadlineExceeded and 4 profiles", err)
		}
		if err := <-flushed; err == nil {
			t.Error("Flush returned nil, though nothing was exported")
		}
		synctest.Wait()
		if diff := cmp.Diff("shutdown", s.calls()[len(s.calls())-1]); diff != "" {
			t.Errorf("last call (-want +got):\n%s", diff)
		}
		check(t, q, exporter.LaneStatus{Unsent: 4})
		if got := reported(); len(got) != 0 {
			t.Errorf("reported %v, though Shutdown told it", got)
		}
	})
}

// The exporter ignores its context: Shutdown returns all the same.
func TestLaneShutdownNeverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func(context.Context) error { <-release; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		exports := exporter.NewMulti(&sink{export: func(context.Context, string) error { <-release; return nil }})
		push(t, exports, 0)
		flushed := make(chan error, 1)
		go func() { flushed <- exports.ForceFlush(t.Context()) }()
		synctest.Wait()
		if err := exports.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "1 profile(s) not exported") {
			t.Errorf("Shutdown during Export: %v", err)
		}
		if err := <-flushed; !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("Flush: %v, want exporter.ErrShutdown", err)
		}
		check(t, exports, exporter.LaneStatus{Unsent: 1})

		ends := exporter.NewMulti(&sink{shutdown: hang})
		if err := ends.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown during the sink's: %v", err)
		}
		close(release)
		synctest.Wait()
		check(t, exports, exporter.LaneStatus{Exported: 1}) // it was taken after all
	})
}

func TestLaneErrorHandlerMayUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{export: func(context.Context, string) error { return errors.New("refused") }}
		q := exporter.NewMulti(s)
		done := make(chan error, 1)
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
			done <- errors.Join(q.ForceFlush(context.Background()), q.Shutdown(context.Background()))
		}))
		defer ignoreReports() // the channel is the bubble's
		push(t, q, 0)
		if err := <-done; err == nil || err.Error() != "exporter_test.sink: 1 failed: refused" {
			t.Errorf("ForceFlush and Shutdown: %v, want the loss, once", err)
		}
		if diff := cmp.Diff([]string{"0", "flush", "shutdown"}, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		check(t, q, exporter.LaneStatus{Failed: 1})
	})
}

func BenchmarkExport(b *testing.B) {
	m := exporter.NewMulti(discard{})
	p := exporter.NewProfile(exporter.Window{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Export(b.Context(), p)
	}
	b.StopTimer()
	_ = m.Shutdown(b.Context())
}

// windows returns profiles by the names of their kinds.
func windows(names ...int) (ps []*exporter.Profile) {
	for _, name := range names {
		ps = append(ps, exporter.NewProfile(exporter.Window{Kind: exporter.Kind(strconv.Itoa(name))}, nil))
	}
	return ps
}

func push(t *testing.T, m *exporter.Multi, names ...int) {
	t.Helper()
	for _, p := range windows(names...) {
		if err := m.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// pushSized pushes profiles of as many MiB as their names say.
func pushSized(t *testing.T, m *exporter.Multi, mib ...int) {
	t.Helper()
	for _, n := range mib {
		w := exporter.Window{Kind: exporter.Kind(strconv.Itoa(n))}
		if err := m.Export(t.Context(), exporter.NewProfile(w, make([]byte, n<<20))); err != nil {
			t.Fatal(err)
		}
	}
}

// check compares the account of the only lane. It adds up, too.
func check(t *testing.T, m *exporter.Multi, want exporter.LaneStatus) {
	t.Helper()
	got := m.Lanes()[0]
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(exporter.LaneStatus{}, "Name", "Taken", "Bytes", "LastSuccess", "LastError", "LastErrorTime")); diff != "" {
		t.Errorf("Lanes (-want +got):\n%s", diff)
	}
	if sum := got.Exported + got.Empty + got.Failed + got.Dropped() + got.Kept + uint64(got.Waiting); got.Taken != sum {
		t.Errorf("%d taken, and the account has %d: %+v", got.Taken, sum, got)
	}
}

// sink is an Exporter that records the calls that have returned, and does what its
// funcs say.
type sink struct {
	export               func(context.Context, string) error
	forceFlush, shutdown func(context.Context) error

	mu  sync.Mutex
	log []string
}

func (s *sink) Export(ctx context.Context, p *exporter.Profile) error {
	defer s.record(string(p.Kind()))
	if s.export == nil {
		return nil
	}
	return s.export(ctx, string(p.Kind()))
}

func (s *sink) ForceFlush(ctx context.Context) error {
	defer s.record("flush")
	if s.forceFlush == nil {
		return nil
	}
	return s.forceFlush(ctx)
}

func (s *sink) Shutdown(ctx context.Context) error {
	defer s.record("shutdown")
	if s.shutdown == nil {
		return nil
	}
	return s.shutdown(ctx)
}

func (s *sink) record(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, call)
}

func (s *sink) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// discard takes everything at once.
type discard struct{}

func (discard) Export(context.Context, *exporter.Profile) error { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }
func (discard) Shutdown(context.Context) error                  { return nil }

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

	got := reported()
	if len(got) != 2 || !strings.Contains(got[0], "refused") ||
		!strings.Contains(got[1], "panic: out of order") || !strings.Contains(got[1], "lane_test.go") {
		t.Errorf("reported %v, want the failure and the panic with its stack", got)
	}
}

// What failed last stands last in a program's log.
func TestLaneReportsInOrder(t *testing.T) {
	failures := []string{"refused", "unknown", "closed"}
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
	want := []string{"exporter_test.sink: refused", "exporter_test.sink: unknown", "exporter_test.sink: closed"}
	if diff := cmp.Diff(want, reported()); diff != "" {
		t.Fatalf("reports (-want +got):\n%s", diff)
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
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "lane_test.go") {
		t.Errorf("reported %v, want the Goexit with its stack", got)
	}
}
