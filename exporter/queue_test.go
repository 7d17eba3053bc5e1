// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
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
	"github.com/spanprof/spanprof/internal/report"
)

// destination records what it takes, by the profiles' bytes.
type destination struct {
	send     func(ctx context.Context, name string) error // nil takes everything
	shutdown func(context.Context) error

	mu    sync.Mutex
	taken []string
	at    []time.Time // of every attempt
	ends  int
}

func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	name, err := p.Pprof()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.at = append(d.at, time.Now())
	d.mu.Unlock()
	if d.send != nil {
		if err := d.send(ctx, string(name)); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = append(d.taken, string(name))
	return nil
}

func (d *destination) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	d.ends++
	d.mu.Unlock()
	if d.shutdown != nil {
		return d.shutdown(ctx)
	}
	return nil
}

func (d *destination) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.taken)
}

func newQueue(t *testing.T, d exporter.Destination, opts ...exporter.QueueOption) *exporter.Queue {
	t.Helper()
	q, err := exporter.NewQueue("test", d, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// named returns a profile of the last ten seconds.
func named(name string) *exporter.Profile {
	return exporter.NewProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    time.Now().Add(-10 * time.Second),
		Duration: 10 * time.Second,
	}, []byte(name))
}

func export(t *testing.T, q *exporter.Queue, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := q.Export(t.Context(), named(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func wantTaken(t *testing.T, d *destination, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.names(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func wantStats(t *testing.T, q *exporter.Queue, want exporter.LaneStatus) {
	t.Helper()
	s := q.Stats()
	if sum := s.Exported + s.Empty + s.Failed + s.Dropped() + s.Kept + uint64(s.Waiting); s.Taken != sum {
		t.Errorf("%d taken, and the account has %d: %+v", s.Taken, sum, s)
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreFields(exporter.LaneStatus{}, "Name", "Taken", "LastSuccess", "LastError", "LastErrorTime")); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

// ignoreReports has otel.Handle do nothing, as it does for the tests that set no handler.
func ignoreReports() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) }

// reports collects the errors that are reported during a test.
func reports(t *testing.T) func() []string {
	t.Helper()
	var (
		mu   sync.Mutex
		errs []string
	)
	t.Cleanup(report.Synchronous(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err.Error())
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(errs)
	}
}

func shutdown(t *testing.T, q *exporter.Queue) {
	t.Helper()
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestQueueDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		q := newQueue(t, d, nil)
		if err := q.Export(t.Context(), nil); err == nil {
			t.Error("no error for a nil profile")
		}
		export(t, q, "a", "b", "c")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantTaken(t, d, "a", "b", "c")
		wantStats(t, q, exporter.LaneStatus{Exported: 3})
		if got := q.Stats().LastSuccess; !got.Equal(time.Now()) {
			t.Errorf("last success at %v, want %v", got, time.Now())
		}

		export(t, q, "d")
		shutdown(t, q)
		shutdown(t, q)
		wantTaken(t, d, "a", "b", "c", "d")
		if d.ends != 1 {
			t.Errorf("the destination was shut down %d times", d.ends)
		}
		if err := q.Export(t.Context(), named("e")); !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("Export after Shutdown: %v", err)
		}
		if err := q.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("ForceFlush after Shutdown: %v", err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 4, Unsent: 1})
	})
}

// Five minutes of failures, with a profile every ten seconds: everything arrives,
// in order but for the one whose attempt finds the destination well, and the attempts come further and further apart.
func TestQueueOutage(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		healthy := time.Now().Add(5 * time.Minute)
		d := &destination{send: func(context.Context, string) error {
			if time.Now().Before(healthy) {
				return &exporter.RetryError{Err: errors.New("500 oops")}
			}
			return nil
		}}
		q := newQueue(t, d)
		var want []string
		for i := range 30 {
			want = append(want, strconv.Itoa(i))
			export(t, q, want[i])
			<-time.After(10 * time.Second)
		}
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, d.names(), cmpopts.SortSlices(func(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b })); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
		want = slices.DeleteFunc(want, func(name string) bool { return name == d.names()[0] })
		if diff := cmp.Diff(want, d.names()[1:]); diff != "" {
			t.Errorf("taken after the first (-want +got):\n%s", diff)
		}
		attempts := len(d.at) - 30
		s := q.Stats()
		if s.Duplicates == 0 || s.Duplicates > uint64(attempts) || s.Retries > uint64(attempts) {
			t.Errorf("Stats %+v after %d failed attempts", s, attempts)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 30, Retries: s.Retries, Duplicates: s.Duplicates})
		if attempts < 10 {
			t.Errorf("%d failed attempts in five minutes", attempts)
		}
		// 0.1, 0.2, 0.4 and so on up to 20 s, each by half more or less.
		middle := 100 * time.Millisecond
		for i := range attempts - 1 {
			if pause := d.at[i+1].Sub(d.at[i]); pause < middle/2 || pause > middle*3/2+1 {
				t.Errorf("a pause of %v in place of about %v", pause, middle)
			}
			middle = min(2*middle, 20*time.Second)
		}
		shutdown(t, q)
	})
	if got := reported(); len(got) != 1 || got[0] != "test: will try again: 500 oops" {
		t.Errorf("reported %q, want one report of the outage", got)
	}
}

// A server that fails two times of three, as one with too much to do, loses none
// of six kinds.
func TestQueueOftenFails(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		d.send = func(context.Context, string) error {
			if len(d.at)%3 != 0 {
				return &exporter.RetryError{Err: errors.New("503")}
			}
			return nil
		}
		q := newQueue(t, d)
		for range 180 {
			export(t, q, "1", "2", "3", "4", "5", "6")
			<-time.After(10 * time.Second)
			synctest.Wait()
		}
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if s := q.Stats(); s.Exported != 6*180 {
			t.Errorf("Stats %+v, want %d exported", s, 6*180)
		}
		shutdown(t, q)
	})
}

// One kind always fails, by an error that could be the destination's: the other
// arrives all the same.
func TestQueueOneKindFails(t *testing.T) {
	reports(t)
	for _, failure := range []exporter.RetryError{
		{Err: errors.New("500")},
		{Err: errors.New("429"), Refused: true},
		{Err: errors.New("429 with Retry-After"), Refused: true, After: time.Second},
		{Err: errors.New("503 with Retry-After"), After: time.Second},
	} {
		t.Run(failure.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { oneKindFails(t, failure) })
		})
	}
}

func oneKindFails(t *testing.T, failure exporter.RetryError) {
	d := &destination{send: func(_ context.Context, name string) error {
		if strings.HasPrefix(name, "bad") {
			return &failure
		}
		return nil
	}}
	q := newQueue(t, d)
	var want []string
	for i := range 360 {
		want = append(want, strconv.Itoa(i))
		export(t, q, "bad"+want[i], want[i])
		<-time.After(10 * time.Second)
		synctest.Wait()
		if got := len(d.names()); got < i {
			t.Fatalf("%d profiles taken of %d", got, i+1)
		}
	}
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	wantTaken(t, d, want...)
	s := q.Stats()
	if s.Exported != 360 || s.Failing+s.Expired != 360 || s.Dropped() != 360 {
		t.Errorf("Stats %+v, want 360 exported, and 360 dropped as failing or expired", s)
	}
	if limited := failure.Refused || failure.After > 0; limited && s.Failing > 0 {
		t.Errorf("Stats %+v, want none dropped before its time", s)
	}
	shutdown(t, q)
}

// One profile always fails, and is given up long before it is too old.
func TestQueueOneProfileFails(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := &destination{send: func(_ context.Context, name string) error {
			if name == "bad" {
				return &exporter.RetryError{Err: errors.New("500 oops")}
			}
			return nil
		}}
		q := newQueue(t, d)
		export(t, q, "bad")
		for range 10 {
			export(t, q, "good")
			<-time.After(10 * time.Second)
		}
		synctest.Wait()
		s := q.Stats()
		wantStats(t, q, exporter.LaneStatus{Exported: 10, Failing: 1, Retries: s.Retries})
		shutdown(t, q)
	})
	if got := reported(); !slices.Contains(got, "test: cpu profile dropped: it fails while others are taken: 500 oops") {
		t.Errorf("reported %q", got)
	}
}

// When a profile that failed has become too old, the next one does not wait for
// its backoff.
func TestQueueExpiryEndsBackoff(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := &destination{send: func(_ context.Context, name string) error {
			if name == "bad" {
				return &exporter.RetryError{Err: errors.New("500 oops")}
			}
			return nil
		}}
		q := newQueue(t, d, exporter.WithMaxAge(45*time.Second))
		export(t, q, "bad")
		<-time.After(45*time.Second - time.Millisecond) // its age is 45 s in a millisecond
		export(t, q, "good")
		<-time.After(time.Millisecond)
		synctest.Wait()
		wantTaken(t, d, "good")
		if s := q.Stats(); s.Expired != 1 {
			t.Errorf("Stats %+v", s)
		}
		shutdown(t, q)
	})
}

func TestQueueRetryAfter(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		d.send = func(context.Context, string) error {
			if len(d.at) == 1 {
				return &exporter.RetryError{Err: errors.New("429"), After: time.Minute, Refused: true}
			}
			return nil
		}
		q := newQueue(t, d)
		export(t, q, "a")
		synctest.Wait()
		if err := q.ForceFlush(t.Context()); err != nil { // does not hurry it
			t.Error(err)
		}
		if pause := d.at[1].Sub(d.at[0]); pause != time.Minute {
			t.Errorf("tried again after %v, want 1m0s", pause)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 1, Retries: 1})
		shutdown(t, q)
	})
}

func TestQueueRejected(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := &destination{send: func(_ context.Context, name string) error {
			switch name {
			case "bad":
				return errors.New("400 no such label")
			case "panic":
				panic("out of order")
			}
			return nil
		}}
		q := newQueue(t, d)
		export(t, q, "a", "bad", "panic", "b")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d, "a", "b")
		wantStats(t, q, exporter.LaneStatus{Exported: 2, Rejected: 2})
		shutdown(t, q)
	})
	got := reported()
	if len(got) != 2 || got[0] != "test: cpu profile dropped: 400 no such label" || !strings.HasPrefix(got[1], "test: cpu profile dropped: panic: out of order") {
		t.Errorf("reported %q", got)
	}
}

func TestQueueBounds(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		down := true
		d := &destination{send: func(context.Context, string) error {
			if down {
				return &exporter.RetryError{Err: errors.New("500"), After: time.Hour}
			}
			return nil
		}}
		q := newQueue(t, d, exporter.WithMaxBytes(4), exporter.WithMaxAge(time.Minute))
		if err := q.Export(t.Context(), named("large")); err == nil || !strings.Contains(err.Error(), "larger than the queue") {
			t.Errorf("Export of more than the queue holds: %v", err)
		}
		export(t, q, "a")
		synctest.Wait() // a has been tried
		export(t, q, "b", "c", "d", "ee", "f")
		wantStats(t, q, exporter.LaneStatus{Full: 4, Waiting: 3, Bytes: 4})

		<-time.After(30 * time.Second)
		export(t, q, "g") // d makes room
		<-time.After(30 * time.Second)
		synctest.Wait()
		wantStats(t, q, exporter.LaneStatus{Full: 5, Expired: 2, Waiting: 1, Bytes: 1})
		<-time.After(30 * time.Second)
		synctest.Wait()
		wantStats(t, q, exporter.LaneStatus{Full: 5, Expired: 3, Retries: 0})
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Errorf("nothing waits, but ForceFlush: %v", err)
		}
		shutdown(t, q)
		wantTaken(t, d)
	})
	if got := reported(); len(got) != 4 {
		t.Errorf("reported %q, want the outage, the full queue once and the age twice", got)
	}
}

// What is being sent counts, and cannot be dropped.
func TestQueueBoundWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &destination{send: func(context.Context, string) error { <-release; return nil }}
		q := newQueue(t, d, exporter.WithMaxBytes(10))
		export(t, q, "aaaaaa")
		synctest.Wait()
		export(t, q, "bbb")
		if err := q.Export(t.Context(), named("cccccc")); err == nil || !strings.Contains(err.Error(), "no room for a cpu profile of 6 bytes") {
			t.Errorf("Export: %v", err)
		}
		wantStats(t, q, exporter.LaneStatus{Full: 1, Waiting: 2, Bytes: 9})
		close(release)
		shutdown(t, q)
		wantTaken(t, d, "aaaaaa", "bbb")
	})
}

// A window that ends in the future does not wait for longer than others.
func TestQueueAgeOfTheFuture(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, &destination{send: down})
		w := exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(24 * time.Hour)}
		if err := q.Export(t.Context(), exporter.NewProfile(w, []byte("a"))); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if s := q.Stats(); s.Expired != 1 {
			t.Errorf("Stats %+v, want it to be too old", s)
		}
		shutdown(t, q)
	})
}

func TestQueueTimeout(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		d.send = func(ctx context.Context, _ string) error {
			if len(d.at) == 1 {
				<-ctx.Done()
				return ctx.Err() // no RetryError
			}
			return nil
		}
		q := newQueue(t, d, exporter.WithTimeout(3*time.Second))
		export(t, q, "a")
		<-time.After(3 * time.Second)
		synctest.Wait()
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantTaken(t, d, "a")
		wantStats(t, q, exporter.LaneStatus{Exported: 1, Retries: 1, Duplicates: 1})
		shutdown(t, q)
	})
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "no answer within 3s") {
		t.Errorf("reported %q", got)
	}
}

func TestQueueForceFlushGivesUp(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		down := &exporter.RetryError{Err: errors.New("500 oops")}
		d := &destination{send: func(context.Context, string) error { return down }}
		q := newQueue(t, d)
		export(t, q, "a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := q.ForceFlush(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, down) || !strings.Contains(err.Error(), "2 profile(s) not delivered yet") {
			t.Errorf("ForceFlush: %v", err)
		}

		flushed := make(chan error, 1)
		go func() { flushed <- q.ForceFlush(t.Context()) }()
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil {
			t.Error("Shutdown lost two profiles without an error")
		}
		if err := <-flushed; !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("ForceFlush during Shutdown: %v", err)
		}
	})
}

// Shutdown during whatever can go wrong returns by the end of its context, with
// the number of profiles that stayed.
func TestQueueShutdownGivesUp(t *testing.T) {
	reports(t)
	for _, tt := range []struct {
		name string
		send func(ctx context.Context) error
		in   time.Duration // after which Shutdown returns
	}{
		{"hang", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 200 * time.Millisecond},
		// The one attempt that Shutdown makes has failed; the next is
		// due after the deadline.
		{"failure", func(context.Context) error { return &exporter.RetryError{Err: errors.New("500")} }, 0},
		{"retry after", func(context.Context) error { return &exporter.RetryError{Err: errors.New("429"), After: time.Minute} }, 0},
		{"retry in time", func(context.Context) error {
			return &exporter.RetryError{Err: errors.New("429"), After: 150 * time.Millisecond}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &destination{send: func(ctx context.Context, _ string) error { return tt.send(ctx) }}
				q := newQueue(t, d)
				export(t, q, "a", "b", "c")
				synctest.Wait()
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				err := q.Shutdown(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "test: 3 profile(s) not exported") {
					t.Errorf("Shutdown: %v", err)
				}
				if took := time.Since(begin); took > 200*time.Millisecond || tt.in > 0 && took != tt.in {
					t.Errorf("Shutdown took %v", took)
				}
				shutdown(t, q)
				wantStats(t, q, exporter.LaneStatus{Unsent: 3, Retries: q.Stats().Retries})
				synctest.Wait()
				if d.ends != 1 {
					t.Errorf("the destination was shut down %d times", d.ends)
				}
			})
		})
	}
}

func TestQueueShutdownNeverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		sends := &destination{send: func(context.Context, string) error { <-release; return nil }}
		ends := &destination{shutdown: func(context.Context) error { <-release; return nil }}
		for _, d := range []*destination{sends, ends} {
			q := newQueue(t, d)
			export(t, q, "a")
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := q.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown: %v", err)
			}
		}
		close(release)
	})
}

func TestQueueShutdownWithoutDeadline(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := &destination{send: func(context.Context, string) error { return &exporter.RetryError{Err: errors.New("500")} }}
		q := newQueue(t, d)
		export(t, q, "a", "b")
		begin := time.Now()
		err := q.Shutdown(context.Background())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "test: 2 profile(s) not exported") {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("Shutdown took %v", took)
		}
	})
}

func TestQueueShutdownSaysWhatIsDropped(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := &destination{send: func(_ context.Context, name string) error {
			if name == "bad" {
				<-time.After(time.Second)
				return errors.New("400")
			}
			return &exporter.RetryError{Err: errors.New("429"), After: time.Hour}
		}}
		q := newQueue(t, d, exporter.WithMaxAge(2*time.Second))
		export(t, q, "bad", "a")
		synctest.Wait()
		err := q.Shutdown(t.Context())
		if err == nil || err.Error() != "test: 2 profile(s) dropped during Shutdown: 1 expired, 1 rejected" {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestQueueShutdownTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &destination{send: func(context.Context, string) error { <-release; return nil }}
		q := newQueue(t, d)
		export(t, q, "a")
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- q.Shutdown(t.Context()) }()
		synctest.Wait()
		go func() { second <- q.Shutdown(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-second:
			t.Errorf("the second Shutdown returned %v while the first sends", err)
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("third Shutdown: %v", err)
		}
		close(release)
		synctest.Wait()
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		wantTaken(t, d, "a")
	})
}

func TestQueueShutdownErrors(t *testing.T) {
	failure := errors.New("will not close")
	q := newQueue(t, &destination{shutdown: func(context.Context) error { return failure }})
	if err := q.Shutdown(t.Context()); !errors.Is(err, failure) {
		t.Errorf("Shutdown: %v, want the destination's error", err)
	}
}

func TestQueueErrorHandlerMayUseTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, &destination{send: func(context.Context, string) error { return errors.New("400") }})
		done := make(chan error, 1)
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
			done <- errors.Join(q.ForceFlush(t.Context()), q.Shutdown(t.Context()))
		}))
		defer ignoreReports() // the channel is the bubble's
		export(t, q, "a")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestQueueOptions(t *testing.T) {
	for want, option := range map[string]exporter.QueueOption{
		"max bytes":       exporter.WithMaxBytes(0),
		"max age":         exporter.WithMaxAge(0),
		"timeout":         exporter.WithTimeout(-1),
		"spill directory": exporter.WithSpill(""),
		"meter provider":  exporter.WithMeterProvider(nil),
	} {
		q, err := exporter.NewQueue("test", new(destination), option)
		if err == nil || q != nil || !strings.HasPrefix(err.Error(), "test: "+want) {
			t.Errorf("NewQueue: %v, %v; want an error about %s", q, err, want)
		}
	}
}

// What was dropped last stands last in a program's log.
func TestQueueReportsInOrder(t *testing.T) {
	reported := reports(t)
	q := newQueue(t, &destination{send: func(_ context.Context, name string) error { return errors.New(name) }})
	export(t, q, "refused", "unknown", "closed")
	if err := q.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	shutdown(t, q)
	want := []string{"test: cpu profile dropped: refused", "test: cpu profile dropped: unknown", "test: cpu profile dropped: closed"}
	if diff := cmp.Diff(want, reported()); diff != "" {
		t.Fatalf("reports (-want +got):\n%s", diff)
	}
}
