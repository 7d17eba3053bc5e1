// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package cpulog

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// funcPC returns the address of a function.
func funcPC(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// fakeRuntime has the CPU profile of a runtime: a read without samples blocks until the
// profile is stopped.
type fakeRuntime struct {
	cpu atomic.Int64 // ns

	mu      sync.Mutex
	records []uint64
	stops   int
	stopped chan struct{} // nil unless the profile is on
}

func (r *fakeRuntime) setRate(hz int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case hz > 0:
		r.records, r.stopped = []uint64{3, 0, uint64(hz)}, make(chan struct{})
	case r.stopped != nil:
		close(r.stopped)
		r.stopped = nil
		r.stops++
	}
}

func (r *fakeRuntime) read() ([]uint64, []*goruntime.LabelSet, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stopped := r.stopped; stopped != nil && len(r.records) == 0 {
		r.mu.Unlock()
		<-stopped
		r.mu.Lock()
	}
	records := r.records
	r.records = nil
	return records, make([]*goruntime.LabelSet, len(records)), len(records) == 0
}

// sample adds one now.
func (r *fakeRuntime) sample() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, 4, uint64(goruntime.Nanotime()), 1, uint64(funcPC(funcPC))+1)
	r.cpu.Add(int64(enough))
}

// running returns a Log of a fake runtime.
func running(t *testing.T) (*Log, *fakeRuntime) {
	t.Helper()
	r := new(fakeRuntime)
	l := New(r.read)
	l.setRate = r.setRate
	l.processTime = func() (time.Duration, bool) { return time.Duration(r.cpu.Load()), true }
	go l.Run()
	<-l.Started()
	return l, r
}

// cut returns the number of samples, and whether the runtime was stopped.
func cut(t *testing.T, l *Log) (samples int64, restarted bool) {
	t.Helper()
	p, err := l.Cut()
	if err != nil {
		t.Error(err)
	}
	return p.Samples, p.Restarted
}

// A Cut stops the runtime only if there are samples, and the reader blocks.
func TestCutStopsOnlyABlockedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := running(t)
		<-time.After(poll / 4) // so no sample comes just when the reader reads
		for range 10 {
			<-time.After(poll)
			r.sample()
			synctest.Wait()
		}
		<-time.After(poll / 2)
		r.sample() // before the cut, and not read yet
		if n, restarted := cut(t, l); n != 11 || restarted {
			t.Errorf("got %d samples, restarted %t; want 11 without", n, restarted)
		}
		<-time.After(time.Second)
		for range 2 {
			r.sample()
		}
		if n, restarted := cut(t, l); n != 2 || !restarted {
			t.Errorf("blocked: got %d samples, restarted %t; want 2 after a stop", n, restarted)
		}
		for _, used := range []time.Duration{2 * tick, tick - 1} { // the reader waits, and blocks
			r.cpu.Add(int64(used))
			if n, restarted := cut(t, l); n != 0 || restarted {
				t.Errorf("without samples: got %d, restarted %t, want 0 without", n, restarted)
			}
			<-time.After(time.Second)
		}
		l.Stop()
		<-l.Ended()
	})
}

// If Run gets no core for long the Cut stops and starts the runtime itself.
func TestCutWithoutTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(fakeRuntime)
		l := New(r.read)
		l.setRate = r.setRate
		l.processTime = func() (time.Duration, bool) { return time.Second, true }
		l.begin()
		r.sample()
		r.sample()
		began := time.Now()
		if n, restarted := cut(t, l); n != 2 || !restarted || r.stopped == nil {
			t.Errorf("got %d samples, restarted %t, stopped %t; want 2 and a running profile", n, restarted, r.stopped == nil)
		}
		if waited := time.Since(began); waited != patience {
			t.Errorf("stopped after %v, want %v", waited, patience)
		}
	})
}

// A sample that is read after its cut counts in the next piece, with the labels of its own time.
func TestSampleReadLate(t *testing.T) {
	l := fixed()
	span := spanlabels.Start(t.Context(), nil, &spanlabels.Values{Name: "span"})
	labels := []*goruntime.LabelSet{goruntime.GoroutineLabels()}
	at := goruntime.Nanotime()
	span.End()
	l.open = l.newPart(goruntime.Nanotime() + 1)
	l.take([]uint64{4, uint64(at), 1, uint64(funcPC(funcPC)) + 1}, labels)
	if n := len(l.open.entries); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	for _, e := range l.open.entries {
		if e.labels != labels[0] {
			t.Errorf("got the labels %v, want %v", e.labels.Labels(), labels[0].List)
		}
	}
}

// Samples belong to a piece by their times.
func TestSamplesAfterTheCut(t *testing.T) {
	l := fixed()
	pc := uint64(funcPC(funcPC)) + 1
	l.next = l.newPart(l.nano + 100)
	for _, at := range []int64{99, 100, 98} {
		l.takeAll(4, uint64(l.nano+at), 1, pc)
	}
	if diff := cmp.Diff([]int64{2, 1}, []int64{l.open.samples, l.next.samples}); diff != "" {
		t.Errorf("samples before and after (-want +got):\n%s", diff)
	}
}

// A stop by something else ends the Log, and the samples before it stay.
func TestForeignStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := running(t)
		r.sample()
		r.setRate(0)
		<-l.Ended()
		for _, want := range []int64{1, 0} {
			if n, restarted := cut(t, l); n != want || restarted {
				t.Errorf("got %d samples, restarted %t; want %d", n, restarted, want)
			}
		}
		l.Stop()
	})
}
