// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// funcPC returns the address of a function.
func funcPC(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// fakeRuntime has the CPU profile of a runtime: a read without samples blocks until the
// profile is stopped.
type fakeRuntime struct {
	records chan []uint64
	stops   int
	cpu     atomic.Int64 // ns
	started bool
}

func (r *fakeRuntime) setRate(hz int) {
	switch {
	case hz > 0:
		r.records, r.started = make(chan []uint64, 100), true
		r.records <- []uint64{3, 0, uint64(hz)}
	case r.started:
		r.started = false
		r.stops++
		close(r.records)
	}
}

func (r *fakeRuntime) read() ([]uint64, []*goruntime.LabelSet, bool) {
	records, ok := <-r.records
	for len(r.records) > 0 {
		records = append(records, <-r.records...)
	}
	return records, make([]*goruntime.LabelSet, len(records)), !ok
}

// sample adds one now.
func (r *fakeRuntime) sample() {
	r.records <- []uint64{4, uint64(goruntime.Nanotime()), 1, uint64(funcPC(funcPC)) + 1}
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

// While samples arrive a Cut does not stop the runtime. Otherwise it stops it once, and gets
// the last samples.
func TestCutStopsOnlyAnIdleRuntime(t *testing.T) {
	known(t)
	synctest.Test(t, func(t *testing.T) {
		l, r := running(t)
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
			synctest.Wait()
		}
		<-time.After(2 * idle) // the reader blocks
		if n, restarted := cut(t, l); n != 2 || !restarted {
			t.Errorf("idle: got %d samples, restarted %t; want 2 after a stop", n, restarted)
		}
		<-time.After(time.Second)
		if n, restarted := cut(t, l); n != 0 || !restarted || r.stops != 2 {
			t.Errorf("without samples: got %d, restarted %t, %d stops; want 0 and 2 stops", n, restarted, r.stops)
		}
		l.Stop()
		<-l.Ended()
	})
}

// If Run gets no core the Cut stops and starts the runtime itself.
func TestCutWithoutTheReader(t *testing.T) {
	known(t)
	synctest.Test(t, func(t *testing.T) {
		r := new(fakeRuntime)
		l := New(r.read)
		l.setRate = r.setRate
		l.begin()
		r.sample()
		r.sample()
		if n, restarted := cut(t, l); n != 2 || !restarted || !r.started {
			t.Errorf("got %d samples, restarted %t, on %t; want 2 and a running profile", n, restarted, r.started)
		}
	})
}

// Samples belong to a piece by their times.
func TestSamplesAfterTheCut(t *testing.T) {
	known(t)
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
	known(t)
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
