// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Run(m))
}

// destination records the profiles that arrive, by their bytes.
type destination struct {
	// answer is the result of an attempt, and whether the profile arrives; nil accepts
	// everything.
	answer   func(ctx context.Context, id string) (arrives bool, err error)
	shutdown func(context.Context) error

	mu       sync.Mutex
	arrived  map[string]int
	order    []string
	attempts []time.Time
}

func (d *destination) Send(ctx context.Context, p *exporter.Profile) error {
	id, err := p.Pprof()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.attempts = append(d.attempts, time.Now())
	answer := d.answer
	d.mu.Unlock()
	arrives := true
	if answer != nil {
		arrives, err = answer(ctx, string(id))
	}
	if arrives {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.arrived == nil {
			d.arrived = map[string]int{}
		}
		if d.arrived[string(id)]++; d.arrived[string(id)] == 1 {
			d.order = append(d.order, string(id))
		}
	}
	return err
}

func (d *destination) Shutdown(ctx context.Context) error {
	if d.shutdown != nil {
		return d.shutdown(ctx)
	}
	return nil
}

// set changes the answer.
func (d *destination) set(answer func(context.Context, string) (bool, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
}

// times returns when the attempts were made.
func (d *destination) times() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.attempts)
}

// unique returns the number of profiles that arrived, and of those that arrived again.
func (d *destination) unique() (n, again uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, times := range d.arrived {
		n++
		if times > 1 {
			again++
		}
	}
	return n, again
}

func newQueue(t *testing.T, d exporter.Destination, c exporter.QueueConfig) *exporter.Queue {
	t.Helper()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	q, err := exporter.NewQueue("test", d, c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// export exports profiles of the last ten seconds.
func export(t *testing.T, q *exporter.Queue, ids ...string) {
	t.Helper()
	for _, id := range ids {
		w := exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-10 * time.Second), Duration: 10 * time.Second}
		if err := q.Export(t.Context(), exporter.NewProfile(w, []byte(id))); err != nil {
			t.Fatal(err)
		}
	}
}

func shutdown(t *testing.T, q *exporter.Queue) {
	t.Helper()
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// account returns the Status after it has checked that it adds up.
func account(t *testing.T, q *exporter.Queue) exporter.Status {
	t.Helper()
	s := q.Status()
	if sum := s.Exported + lostOf(s) + uint64(s.Waiting); s.Taken != sum {
		t.Errorf("%d taken, want %d by the account %+v", s.Taken, sum, s)
	}
	return s
}

func lostOf(s exporter.Status) (n uint64) {
	for _, lost := range s.Lost {
		n += lost
	}
	return n
}

func wantStatus(t *testing.T, q *exporter.Queue, want exporter.Status) {
	t.Helper()
	if diff := cmp.Diff(want, account(t, q), cmpopts.IgnoreFields(exporter.Status{}, "Name", "Taken", "LastSuccess", "LastError", "LastErrorTime")); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}

func retry(e exporter.RetryError) error {
	e.Err = errors.New("not now")
	return &e
}

// faults are the ways in which a destination fails for three minutes.
var faults = []struct {
	name      string
	answer    func(context.Context, string) (bool, error)
	pause     time.Duration // between attempts; 0 if it varies
	lost      string        // the reason; empty if all arrive after the fault
	duplicate bool          // profiles may arrive again
}{
	{name: "accepted", answer: nil},
	{name: "refused", answer: func(context.Context, string) (bool, error) { return false, errors.New("400") }, lost: "rejected"},
	{name: "panic", answer: func(context.Context, string) (bool, error) { panic("out of order") }, lost: "rejected"},
	{name: "rate limit", answer: func(context.Context, string) (bool, error) {
		return false, retry(exporter.RetryError{After: 50 * time.Second, Refused: true})
	}, pause: 50 * time.Second},
	{name: "server error", answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{}) }, duplicate: true},
	{name: "stored, and server error", answer: func(context.Context, string) (bool, error) { return true, retry(exporter.RetryError{}) }, duplicate: true},
	{name: "unclear", answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{MaxAttempts: 5}) }, lost: "rejected"},
	{name: "no connection", answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{Refused: true}) }},
	{name: "hang", answer: func(ctx context.Context, _ string) (bool, error) { <-ctx.Done(); return false, ctx.Err() }, duplicate: true},
	{name: "stored, and hang", answer: func(ctx context.Context, _ string) (bool, error) { <-ctx.Done(); return true, ctx.Err() }, duplicate: true},
	{name: "too large", answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{TooLarge: true}) }, lost: "rejected"},
}

// During each fault and after it, the account agrees with what arrived.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &destination{answer: f.answer}
				q := newQueue(t, d, exporter.QueueConfig{})
				const n = 18
				for i := range n {
					export(t, q, fmt.Sprint(i))
					time.Sleep(9 * time.Second)
					account(t, q)
					time.Sleep(time.Second)
				}
				for pair := range slices.Chunk(d.times(), 2) {
					if len(pair) == 1 {
						break
					}
					if got := pair[1].Sub(pair[0]); f.pause > 0 && got != f.pause || f.lost == "" && f.answer != nil && got < 250*time.Millisecond {
						t.Errorf("attempts %v apart, want %v", got, f.pause)
					}
				}
				d.set(nil)
				if err := q.ForceFlush(t.Context()); (err != nil) != (f.lost != "") {
					t.Errorf("ForceFlush: %v", err)
				}
				s := account(t, q)
				arrived, again := d.unique()
				switch {
				case f.lost != "" && (s.Lost[f.lost] != n || arrived != 0):
					t.Errorf("%d arrived, %+v; want all lost as %s", arrived, s, f.lost)
				case f.lost == "" && (arrived != n || s.Exported != n):
					t.Errorf("%d arrived, %+v; want all", arrived, s)
				case again > s.Duplicates || (s.Duplicates > 0) != f.duplicate:
					t.Errorf("%d arrived again, %+v", again, s)
				}
				shutdown(t, q)
			})
		})
	}
}

// Attempts during Shutdown go on until shortly before the deadline.
func TestOutageThenShutdown(t *testing.T) {
	down := func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{Refused: true}) }
	for _, test := range []struct {
		name  string
		heals time.Duration // after the beginning of Shutdown
		lost  uint64
	}{
		{"heals", 4800 * time.Millisecond, 0},
		{"heals too late", 5 * time.Second, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &destination{answer: down}
				q := newQueue(t, d, exporter.QueueConfig{})
				for i := range 30 {
					export(t, q, fmt.Sprint(i))
					time.Sleep(10 * time.Second)
				}
				time.AfterFunc(test.heals, func() { d.set(nil) })
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				begun := time.Now()
				err := q.Shutdown(ctx)
				s := account(t, q)
				if arrived, _ := d.unique(); arrived != s.Exported || s.Lost["unsent"] != test.lost || s.Exported+test.lost != 30 {
					t.Errorf("%d arrived, %+v", arrived, s)
				}
				if took := time.Since(begun); took < 4800*time.Millisecond || took > 5*time.Second {
					t.Errorf("Shutdown took %v", took)
				}
				if test.lost > 0 && (err == nil || !strings.Contains(err.Error(), "test: 30 profile(s) not exported: context deadline exceeded (last attempt: not now)")) || test.lost == 0 && err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if err := q.Shutdown(t.Context()); err != nil {
					t.Errorf("second Shutdown: %v", err)
				}
				if err := q.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
					t.Errorf("ForceFlush after Shutdown: %v", err)
				}
				if err := q.Export(t.Context(), exporter.NewProfile(exporter.Window{}, nil)); !errors.Is(err, exporter.ErrShutdown) {
					t.Errorf("Export after Shutdown: %v", err)
				}
				account(t, q)
			})
		})
	}
}

// A destination that wants a pause beyond the deadline does not delay Shutdown.
func TestShutdownDuringRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(context.Context, string) (bool, error) {
			return false, retry(exporter.RetryError{After: time.Minute, Refused: true})
		}}
		q := newQueue(t, d, exporter.QueueConfig{})
		export(t, q, "a")
		synctest.Wait()
		begun := time.Now()
		if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "1 profile(s) not exported") {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Shutdown took %v", took)
		}
	})
}

// A destination that ignores its context does not delay Shutdown. A profile that
// arrives after all is moved in the account.
func TestLateArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &destination{answer: func(context.Context, string) (bool, error) { <-release; return true, nil }}
		q := newQueue(t, d, exporter.QueueConfig{})
		export(t, q, "a", "b")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "2 profile(s) not exported") {
			t.Errorf("Shutdown: %v", err)
		}
		wantStatus(t, q, exporter.Status{Lost: map[string]uint64{"unsent": 2}})
		close(release)
		synctest.Wait()
		wantStatus(t, q, exporter.Status{Exported: 1, Lost: map[string]uint64{"unsent": 1}})
	})
}

// Half an hour with three kinds and a destination that fails 60 % of the attempts: every
// profile arrives within the age bound.
func TestRandomFailures(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 37))
			d := &destination{answer: func(ctx context.Context, _ string) (bool, error) {
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				switch {
				case random.IntN(10) >= 6:
					return true, nil
				case random.IntN(2) == 0:
					return true, retry(exporter.RetryError{})
				}
				return false, retry(exporter.RetryError{Refused: true})
			}}
			q := newQueue(t, d, exporter.QueueConfig{})
			for i := range 180 {
				export(t, q, fmt.Sprint("cpu", i), fmt.Sprint("heap", i), fmt.Sprint("wall", i))
				time.Sleep(10 * time.Second)
				account(t, q)
			}
			if s := account(t, q); s.Waiting > 18 {
				t.Errorf("%d wait at the end", s.Waiting)
			}
			if err := q.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			s := account(t, q)
			if arrived, again := d.unique(); arrived != 540 || s.Exported != 540 || again > s.Duplicates {
				t.Errorf("%d arrived, %d again, %+v", arrived, again, s)
			}
			shutdown(t, q)
		})
	}
}

// One kind that always fails does not delay another by more than two pauses.
func TestOneKindFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(_ context.Context, id string) (bool, error) {
			if strings.HasPrefix(id, "bad") {
				return false, retry(exporter.RetryError{})
			}
			return true, nil
		}}
		q := newQueue(t, d, exporter.QueueConfig{})
		for i := range 120 {
			export(t, q, fmt.Sprint("bad", i), fmt.Sprint("good", i))
			time.Sleep(10 * time.Second)
			if s := account(t, q); s.Exported < uint64(i) {
				t.Errorf("%d exported after window %d", s.Exported, i)
			}
		}
		synctest.Wait()
		if s := account(t, q); s.Lost["expired"] != 61 || s.Waiting != 59 {
			t.Errorf("%+v, want bad profiles to wait for ten minutes", s)
		}
		_ = q.Shutdown(t.Context())
	})
}

// Profiles leave in the order of Export, also after an outage.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{}) }}
		q := newQueue(t, d, exporter.QueueConfig{})
		export(t, q, "a", "b", "c", "d")
		time.Sleep(time.Minute)
		d.set(nil)
		export(t, q, "e")
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, d.order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		shutdown(t, q)
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{Refused: true}) }}
		q := newQueue(t, d, exporter.QueueConfig{MaxBytes: 10, MaxAge: time.Minute})
		export(t, q, "aaaa", "bbbb", "cccc", strings.Repeat("x", 11))
		synctest.Wait()
		wantStatus(t, q, exporter.Status{Waiting: 2, Bytes: 8, Lost: map[string]uint64{"full": 2}})
		time.Sleep(30 * time.Second)
		export(t, q, "dd")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if s := account(t, q); s.Lost["expired"] != 2 || s.Waiting != 1 || s.Bytes != 2 {
			t.Errorf("%+v, want the two older profiles expired", s)
		}
		// While an attempt hangs, at most 48 profiles wait in their first form.
		d.set(func(ctx context.Context, _ string) (bool, error) { <-ctx.Done(); return false, ctx.Err() })
		time.Sleep(6 * time.Second)
		export(t, q, slices.Repeat([]string{""}, 50)...)
		if s := account(t, q); s.Lost["full"] != 4 || s.Waiting != 49 {
			t.Errorf("%+v, want 48 profiles besides the one that is sent", s)
		}
		d.set(nil)
		if err := q.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "test: 2 expired, 4 full: ") {
			t.Errorf("Shutdown: %v, want the losses", err)
		}
		if got, _ := d.unique(); got != 2 { // all of the 48 are equal
			t.Errorf("%d arrived", got)
		}
	})
}

// ForceFlush makes the next attempt now, and returns its error at the end of its
// context.
func TestForceFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &destination{answer: func(context.Context, string) (bool, error) { return false, retry(exporter.RetryError{}) }}
		q := newQueue(t, d, exporter.QueueConfig{})
		export(t, q, "a")
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := len(d.times())
		if err := q.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "test: 1 profile(s) not delivered yet: context deadline exceeded (last attempt: not now)" {
			t.Errorf("ForceFlush: %v", err)
		}
		if got := len(d.times()) - before; got != 3 { // at 0, 0.25 and 0.75 s
			t.Errorf("%d attempts in a second, want 3", got)
		}
		d.set(nil)
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		// The losses since the last one are in the error.
		d.set(func(context.Context, string) (bool, error) { return false, errors.New("bad label") })
		export(t, q, "b", "c")
		for _, want := range []string{"test: 2 rejected: bad label", "<nil>"} {
			if err := q.ForceFlush(t.Context()); fmt.Sprint(err) != want {
				t.Errorf("ForceFlush: %v, want %s", err, want)
			}
		}
		s := account(t, q)
		if s.Retries < 3 || s.Duplicates != 1 || s.String() != "test: 1 exported, 2 rejected" {
			t.Errorf("%s: %+v", s, s)
		}
		shutdown(t, q)
	})
}

// The destination is shut down once, after the last attempt, and its error is returned.
func TestDestinationShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := &destination{shutdown: func(context.Context) error { calls++; return errors.New("cannot close") }}
		q := newQueue(t, d, exporter.QueueConfig{})
		export(t, q, "a")
		if err := q.Shutdown(t.Context()); err == nil || err.Error() != "test: cannot close" {
			t.Errorf("Shutdown: %v", err)
		}
		if arrived, _ := d.unique(); calls != 1 || arrived != 1 {
			t.Errorf("%d calls, %d arrived", calls, arrived)
		}
	})
}

func TestNewQueueErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		d      exporter.Destination
		config exporter.QueueConfig
		want   string
	}{
		{"", &destination{}, exporter.QueueConfig{}, "no name"},
		{"x", nil, exporter.QueueConfig{}, "is nil"},
		{"x", &destination{}, exporter.QueueConfig{MaxAge: -1}, "negative bound"},
		{"x", &destination{}, exporter.QueueConfig{MaxBytes: -1}, "negative bound"},
	} {
		if q, err := exporter.NewQueue(test.name, test.d, test.config); q != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewQueue: %v, want %q", err, test.want)
		}
	}
	q := newQueue(t, &destination{}, exporter.QueueConfig{})
	if err := q.Export(t.Context(), nil); err == nil {
		t.Error("no error for a nil profile")
	}
	shutdown(t, q)
	if s := q.Status(); s.Taken != 0 || len(s.Lost) != 0 {
		t.Errorf("%+v", s)
	}
}
