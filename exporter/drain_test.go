// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// far is a destination that takes half a second for an attempt, and is down at first.
type far struct {
	up     time.Time
	broken map[string]int // how many more attempts fail

	mu      sync.Mutex
	begun   []string // in order, while it is up
	running map[string]bool
	most    int // running at once
	twice   []string
	taken   map[string]int
}

func (f *far) Send(_ context.Context, p *exporter.Profile) error {
	data, err := p.Pprof()
	if err != nil {
		return err
	}
	name := string(data)
	if time.Now().Before(f.up) {
		return &exporter.RetryError{Err: errors.New("connection refused"), Refused: true}
	}
	f.mu.Lock()
	if f.running[name] {
		f.twice = append(f.twice, name)
	}
	f.running[name] = true
	f.begun = append(f.begun, name)
	f.most = max(f.most, len(f.running))
	f.mu.Unlock()
	<-time.After(500 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, name)
	if f.broken[name] > 0 {
		f.broken[name]--
		return &exporter.RetryError{Err: errors.New("503")}
	}
	f.taken[name]++
	return nil
}

func newFar(up time.Duration) *far {
	return &far{up: time.Now().Add(up), broken: map[string]int{}, running: map[string]bool{}, taken: map[string]int{}}
}

// After an outage, four at once: each is begun once, the oldest first.
func TestQueueDrains(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := newFar(time.Minute)
		q := newQueue(t, d)
		var want []string
		for i := range 100 {
			want = append(want, fmt.Sprintf("%03d", i))
			export(t, q, want[i])
		}
		<-time.After(time.Until(d.up))
		begin := time.Now()
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		// The one that is tried first is that which was tried the least.
		first := d.begun[0]
		want = append([]string{first}, slices.DeleteFunc(want, func(name string) bool { return name == first })...)
		if d.most != 4 || len(d.twice) > 0 || !slices.Equal(d.begun, want) {
			t.Errorf("%d at once, %q twice at once, begun in the order %q", d.most, d.twice, d.begun)
		}
		if took > 20*time.Second { // of 50 s one by one
			t.Errorf("it took %v", took)
		}
		s := q.Stats()
		wantStats(t, q, exporter.LaneStatus{Exported: 100, Retries: s.Retries})

		// A few that wait are sent one by one.
		d.mu.Lock()
		d.most = 0
		d.mu.Unlock()
		export(t, q, "a", "b", "c", "d", "e")
		if err := q.ForceFlush(t.Context()); err != nil || d.most != 1 {
			t.Errorf("%d at once, %v; want 1", d.most, err)
		}
		shutdown(t, q)
	})
}

// What fails while others run beside it arrives once.
func TestQueueDrainsPastFailures(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		d := newFar(0)
		q := newQueue(t, d)
		for i := 3; i < 60; i += 7 {
			d.broken[fmt.Sprintf("%03d", i)] = 2
		}
		for i := range 60 {
			export(t, q, fmt.Sprintf("%03d", i))
		}
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, n := range d.taken {
			if n != 1 {
				t.Errorf("%s taken %d times", name, n)
			}
		}
		if len(d.taken) != 60 || len(d.twice) > 0 || d.most != 4 {
			t.Errorf("%d taken, %q twice at once, %d at once; want 60, none, 4", len(d.taken), d.twice, d.most)
		}
		s := q.Stats()
		wantStats(t, q, exporter.LaneStatus{Exported: 60, Retries: s.Retries, Duplicates: 8 + 1})
		shutdown(t, q)
	})
}

// Four are in the destination's hands when Shutdown gives up.
func TestQueueShutdownWhileItDrains(t *testing.T) {
	reports(t)
	for name, opts := range map[string][]exporter.QueueOption{"memory": nil, "file": {exporter.WithSpill(t.TempDir())}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFar(0)
				q := newQueue(t, d, opts...)
				for i := range 40 {
					export(t, q, fmt.Sprintf("%03d", i))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2010*time.Millisecond)
				defer cancel()
				err := q.Shutdown(ctx)
				s := q.Stats()
				if left := s.Unsent + s.Kept; err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d profile(s)", left)) || s.Exported == 0 || s.Exported+left != 40 || s.Bytes != 0 {
					t.Errorf("Shutdown: %v; Stats %+v", err, s)
				}
				synctest.Wait()
				<-time.After(time.Second)
				if late := q.Stats(); late.Taken != late.Exported+late.Unsent+late.Kept || late.Exported != uint64(len(d.taken)) {
					t.Errorf("%d taken, Stats %+v", len(d.taken), late)
				}
			})
		})
	}
}

// cutting is a destination that takes single letters.
type cutting struct{ destination }

func (c *cutting) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	data, err := p.Pprof()
	if string(data) == "panic" {
		panic("cannot cut")
	}
	var parts []*exporter.Profile
	for i := range data {
		parts = append(parts, exporter.NewProfile(exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration()}, data[i:i+1]))
	}
	return parts, err
}

// Parts are profiles of their own, and a flush waits for all of them.
func TestQueueSplits(t *testing.T) {
	for _, fan := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := new(cutting)
			q := newQueue(t, d)
			var e exporter.Exporter = q
			if fan {
				e = exporter.NewMulti(q)
			}
			for _, name := range []string{"abc", "panic", "d"} {
				if err := e.Export(t.Context(), named(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			wantTaken(t, &d.destination, "a", "b", "c", "panic", "d")
			wantStats(t, q, exporter.LaneStatus{Exported: 5})
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if d.ends != 1 {
				t.Errorf("the destination was shut down %d times", d.ends)
			}
		})
	}
}

// One Export of the program's own, while the worker encodes what the fan-out gave it: a
// flush waits for that all the same.
func TestQueueExportWhileItEncodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &cuttingSlowly{release: make(chan struct{})}
		q := newQueue(t, d)
		m := exporter.NewMulti(q)
		if err := m.Export(t.Context(), named("slow")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		export(t, q, "other")
		wantStats(t, q, exporter.LaneStatus{Waiting: 2, Bytes: q.Stats().Bytes})
		flushed := make(chan error, 1)
		go func() { flushed <- m.ForceFlush(t.Context()) }()
		synctest.Wait()
		if len(flushed) > 0 {
			t.Error("ForceFlush has returned while a profile was being encoded")
		}
		close(d.release)
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 2})
		shutdown(t, q)
	})
}

// cuttingSlowly is a destination that takes its time to look at one profile.
type cuttingSlowly struct {
	destination
	release chan struct{}
}

func (c *cuttingSlowly) Split(p *exporter.Profile) ([]*exporter.Profile, error) {
	data, err := p.Pprof()
	if string(data) == "slow" {
		<-c.release
	}
	return []*exporter.Profile{p}, err
}

// After an outage the pauses are long. Shutdown and ForceFlush begin with short ones
// again, and make a last attempt before their time is over.
func TestQueueDeliversAfterAnOutage(t *testing.T) {
	reports(t)
	for name, deliver := range map[string]func(*exporter.Queue, context.Context) error{"Shutdown": (*exporter.Queue).Shutdown, "ForceFlush": (*exporter.Queue).ForceFlush} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFar(10 * time.Minute)
				q := newQueue(t, d, exporter.WithMaxAge(time.Hour))
				for i := range 3 {
					export(t, q, strconv.Itoa(i))
				}
				<-time.After(time.Until(d.up) - 7*time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := deliver(q, ctx); err != nil {
					t.Error(err)
				}
				if s := q.Stats(); s.Exported != 3 {
					t.Errorf("Stats %+v, want 3 exported", s)
				}
				shutdown(t, q)
			})
		})
	}
}
