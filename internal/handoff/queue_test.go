// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"

	"github.com/spanprof/spanprof/internal/handoff"
)

// reported is what otel.Handle got; each test takes what it expects.
var reported errorLog

func TestMain(m *testing.M) {
	otel.SetErrorHandler(&reported)
	goleak.VerifyTestMain(m)
}

var errShutdown = errors.New("already shut down")

func TestQueueExportsInOrder(t *testing.T) {
	s := new(sink)
	q := handoff.New(s, one, errShutdown)
	for i := range 10 {
		if err := q.Push(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "flush"}, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, q, handoff.Stats{Exported: 10})
}

func TestQueueShutdownDrains(t *testing.T) {
	s := new(sink)
	q := handoff.New(s, one, errShutdown)
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
	if err := q.Flush(t.Context()); !errors.Is(err, errShutdown) {
		t.Errorf("Flush after Shutdown: %v", err)
	}
	if err := q.Push(3); !errors.Is(err, errShutdown) {
		t.Errorf("Push after Shutdown: %v", err)
	}
	check(t, q, handoff.Stats{Exported: 3, Dropped: 1})
}

func TestQueueReturnsTheSinksErrors(t *testing.T) {
	errFlush, errEnd := errors.New("flush"), errors.New("end")
	s := &sink{
		forceFlush: func(context.Context) error { return errFlush },
		shutdown:   func(context.Context) error { return errEnd },
	}
	q := handoff.New(s, one, errShutdown)
	if err := q.Flush(t.Context()); !errors.Is(err, errFlush) {
		t.Errorf("Flush: %v", err)
	}
	if err := q.Shutdown(t.Context()); !errors.Is(err, errEnd) {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestQueueDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, int) error { <-release; return nil }}
		q := handoff.New(s, one, errShutdown)
		push(t, q, 0)
		synctest.Wait() // 0 is in Export; the rest waits
		for i := range 51 {
			push(t, q, 1+i)
		}
		check(t, q, handoff.Stats{Dropped: 3, Waiting: 49})
		synctest.Wait()
		if got := reported.take(); len(got) != 1 || !strings.Contains(got[0].Error(), "dropped") {
			t.Errorf("reported %v, want one error about dropping", got)
		}

		close(release)
		if err := q.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"0"}
		for i := 4; i <= 51; i++ {
			want = append(want, strconv.Itoa(i))
		}
		want = append(want, "shutdown")
		if diff := cmp.Diff(want, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		check(t, q, handoff.Stats{Exported: 49, Dropped: 3})
	})
}

// Items are their own size in MiB here, of which 32 may wait.
func TestQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, int) error { <-release; return nil }}
		q := handoff.New(s, func(item int) int { return item << 20 }, errShutdown)
		push(t, q, 0)
		synctest.Wait() // 0 is in Export; the rest waits
		push(t, q, 10, 11, 9, 2)
		check(t, q, handoff.Stats{Waiting: 5})
		push(t, q, 15) // 10 and 11 make room for it
		check(t, q, handoff.Stats{Dropped: 2, Waiting: 4})
		push(t, q, 99) // larger than all that may wait: it waits alone
		check(t, q, handoff.Stats{Dropped: 5, Waiting: 2})
		push(t, q, 1)
		check(t, q, handoff.Stats{Dropped: 6, Waiting: 2})
		synctest.Wait()
		if got := reported.take(); len(got) != 1 || !strings.Contains(got[0].Error(), "dropped") {
			t.Errorf("reported %v, want one error about dropping", got)
		}

		close(release)
		if err := q.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"0", "1", "shutdown"}, s.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// one is the size of an item where it does not matter.
func one(int) int { return 1 }

func TestQueueContainsFailuresAndPanics(t *testing.T) {
	failure := errors.New("refused")
	s := &sink{
		export: func(_ context.Context, item int) error {
			switch item {
			case 0:
				return failure
			case 1:
				panic("out of order")
			}
			return nil
		},
		forceFlush: func(context.Context) error { panic("flush") },
		shutdown:   func(context.Context) error { panic("shutdown") },
	}
	q := handoff.New(s, one, errShutdown)
	push(t, q, 0, 1, 2)
	if err := q.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: flush") {
		t.Errorf("Flush: %v, want the panic", err)
	}
	if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: shutdown") {
		t.Errorf("Shutdown: %v, want the panic", err)
	}
	check(t, q, handoff.Stats{Exported: 1, Failed: 2})

	got := reported.take()
	if len(got) != 2 || !errors.Is(got[0], failure) ||
		!strings.Contains(got[1].Error(), "panic: out of order") || !strings.Contains(got[1].Error(), "queue_test.go") {
		t.Errorf("reported %v, want the failure and the panic with its stack", got)
	}
}

// A test double that calls t.Fatal is one way to get there.
func TestQueueOutlivesGoexit(t *testing.T) {
	s := &sink{
		export: func(_ context.Context, item int) error {
			if item == 0 {
				runtime.Goexit()
			}
			return nil
		},
		forceFlush: func(context.Context) error { runtime.Goexit(); return nil },
		shutdown:   func(context.Context) error { runtime.Goexit(); return nil },
	}
	q := handoff.New(s, one, errShutdown)
	push(t, q, 0, 1)
	if err := q.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Flush: %v, want the Goexit", err)
	}
	if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Shutdown: %v, want the Goexit", err)
	}
	check(t, q, handoff.Stats{Exported: 1, Failed: 1})
	if diff := cmp.Diff([]string{"0", "1", "flush", "shutdown"}, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := reported.take(); len(got) != 1 || !strings.Contains(got[0].Error(), "queue_test.go") {
		t.Errorf("reported %v, want the Goexit with its stack", got)
	}
}

func TestQueueFlushWaitsForWhatIsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{export: func(context.Context, int) error { <-release; return nil }}
		q := handoff.New(s, one, errShutdown)
		push(t, q, 0, 1)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Flush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v, want DeadlineExceeded", err)
		}

		flushed := make(chan error, 1)
		go func() { flushed <- q.Flush(t.Context()) }()
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
func TestQueueExportsDuringForceFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{forceFlush: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		q := handoff.New(s, one, errShutdown)
		push(t, q, 0)
		ctx, cancel := context.WithCancel(t.Context())
		canceled := make(chan error, 1)
		go func() { canceled <- q.Flush(ctx) }()
		waits := make(chan error, 1)
		go func() { waits <- q.Flush(t.Context()) }()
		synctest.Wait()
		push(t, q, 1, 2)
		synctest.Wait()
		check(t, q, handoff.Stats{Exported: 3})
		cancel()
		if err := <-canceled; !errors.Is(err, context.Canceled) {
			t.Errorf("Flush: %v, want the error of its context", err)
		}
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-waits; !errors.Is(err, errShutdown) {
			t.Errorf("Flush: %v, want errShutdown", err)
		}
		if diff := cmp.Diff("shutdown", s.calls()[len(s.calls())-1]); diff != "" {
			t.Errorf("last call (-want +got):\n%s", diff)
		}
	})
}

// What a sink says when its time is over is worth a moment.
func TestQueueShutdownReturnsWhatTheSinkSays(t *testing.T) {
	errKept := errors.New("2 profile(s) kept")
	untilOver := func(ctx context.Context) error { <-ctx.Done(); return errKept }
	for name, test := range map[string]struct {
		sink *sink
		want string
	}{
		"during its Shutdown": {&sink{shutdown: untilOver}, "2 profile(s) kept"},
		"during an Export": {
			&sink{
				export:   func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
				shutdown: untilOver,
			},
			"shut down *handoff_test.sink: 1 profile(s) not exported: context deadline exceeded\n2 profile(s) kept",
		},
		"just in time": {
			&sink{
				export:   func(context.Context, int) error { return nil },
				shutdown: func(ctx context.Context) error { <-ctx.Done(); return nil },
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := handoff.New(test.sink, one, errShutdown)
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

func TestQueueShutdownGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{export: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		q := handoff.New(s, one, errShutdown)
		push(t, q, 0, 1, 2, 3)
		flushed := make(chan error, 1)
		go func() { flushed <- q.Flush(t.Context()) }()
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
		check(t, q, handoff.Stats{Dropped: 4})
		if got := reported.take(); len(got) != 0 {
			t.Errorf("reported %v, though Shutdown told it", got)
		}
	})
}

// The exporter ignores its context: Shutdown returns all the same.
func TestQueueShutdownNeverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func(context.Context) error { <-release; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		exports := handoff.New(&sink{export: func(context.Context, int) error { <-release; return nil }}, one, errShutdown)
		push(t, exports, 0)
		flushed := make(chan error, 1)
		go func() { flushed <- exports.Flush(t.Context()) }()
		synctest.Wait()
		if err := exports.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "1 profile(s) not exported") {
			t.Errorf("Shutdown during Export: %v", err)
		}
		if err := <-flushed; !errors.Is(err, errShutdown) {
			t.Errorf("Flush: %v, want errShutdown", err)
		}
		check(t, exports, handoff.Stats{Dropped: 1})

		ends := handoff.New(&sink{shutdown: hang}, one, errShutdown)
		if err := ends.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown during the sink's: %v", err)
		}
		close(release)
		synctest.Wait()
		check(t, exports, handoff.Stats{Dropped: 1})
	})
}

func TestQueueHasNoLabels(t *testing.T) {
	const key = "handoff_test_label"
	s := new(sink)
	var q *handoff.Queue[int]
	pprof.Do(t.Context(), pprof.Labels(key, "x"), func(context.Context) { q = handoff.New(s, one, errShutdown) })
	// The worker has cleared its labels before it answers.
	if err := q.Flush(t.Context()); err != nil {
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

func BenchmarkPush(b *testing.B) {
	q := handoff.New(new(discard), one, errShutdown)
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Push(0)
	}
	b.StopTimer()
	if err := q.Shutdown(b.Context()); err != nil {
		b.Fatal(err)
	}
	reported.take()
}

func push(t *testing.T, q *handoff.Queue[int], items ...int) {
	t.Helper()
	for _, item := range items {
		if err := q.Push(item); err != nil {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, q *handoff.Queue[int], want handoff.Stats) {
	t.Helper()
	if diff := cmp.Diff(want, q.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

// errorLog is an otel.ErrorHandler that keeps the errors.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) take() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := l.errs
	l.errs = nil
	return errs
}
