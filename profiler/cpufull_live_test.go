// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
)

// flood reads samples, and has others of its own among them, each of another stack.
type flood struct {
	now, atEnd atomic.Int64 // how many it is to make at the next read, and at the last
	made       atomic.Int64
	ended      bool
}

// tall is the function at the leaf of all stacks of a flood.
func tall() {}

var _ cpulog.Reader = new(flood).read

func (f *flood) read() (records []uint64, labels []*goruntime.LabelSet, eof bool) {
	if f.ended {
		return nil, nil, true
	}
	records, labels, eof = goruntime.ReadCPUProfile()
	n := int64(0)
	switch {
	case eof:
		f.ended = true
		n = f.atEnd.Load()
	case len(records) > 0:
		n = f.now.Swap(0)
	}
	// What lies behind them is the runtime's.
	records, labels = slices.Clip(records), slices.Clip(labels)
	for range n {
		records = append(records, 5, 0, 1, uint64(reflect.ValueOf(tall).Pointer())+1, uint64(f.made.Add(1)))
		labels = append(labels, nil)
	}
	return records, labels, eof && n == 0
}

// samplesOf returns how many of a flood are in a profile.
func (*flood) samplesOf(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		if hasFunction(s, "tall") {
			n += s.Value[0]
		}
	}
	return n
}

// A window ends before its time if it has the most different samples that are allowed. The next
// window begins there.
func TestCPUWindowThatIsFullEndsEarly(t *testing.T) {
	knownRuntime(t)
	const many = 50_000
	f := new(flood)
	f.now.Store(many)
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(endless))
	if err != nil {
		t.Fatal(err)
	}
	p.SetReader(f.read)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, p)
	until(t, func() bool { return len(rec.Profiles()) == 1 })
	f.now.Store(many)
	flush(t, p) // the reader looks
	until(t, func() bool { return f.made.Load() == 2*many })
	shutdown(t, p)
	var windows []*exporter.Profile
	var got int64
	for _, w := range rec.Profiles() {
		if w.Kind() == exporter.KindCPU {
			windows = append(windows, w)
			got += f.samplesOf(parsed(t, w))
		}
	}
	for i, w := range windows[1:] {
		if before := windows[i]; !w.Start().Equal(before.End()) {
			t.Errorf("window %d begins at %v, and the one before has ended at %v", i+1, w.Start(), before.End())
		}
	}
	if got != 2*many || p.Status().CPUSamplesDropped != 0 {
		t.Errorf("%d of %d samples are in %d windows, and %d were dropped", got, 2*many, len(windows), p.Status().CPUSamplesDropped)
	}
}

// A profile that no Profiler shares has all samples, too. It must last until the first half of
// them was cut off.
func TestProfileByItselfHasAllSamples(t *testing.T) {
	knownRuntime(t)
	const many = 50_000
	livetest.Doubling(t, time.Second, func(d time.Duration) string {
		p, err := profiler.New(new(exportertest.Recorder))
		if err != nil {
			t.Fatal(err)
		}
		defer shutdown(t, p)
		f := new(flood)
		f.now.Store(many)
		f.atEnd.Store(many)
		p.SetReader(f.read)
		got := f.samplesOf(profileCPU(t, p, d))
		lost := p.Status().CPUSamplesDropped
		if got+int64(lost) != 2*many {
			t.Errorf("%d samples in the profile, %d dropped, want %d", got, lost, 2*many)
		}
		return livetest.Few(got, 2*many, "samples in the profile")
	})
	reported.take("cpu")
}

// What does not fit in is counted, and reported.
func TestProfileByItselfCountsDroppedSamples(t *testing.T) {
	knownRuntime(t)
	heard := hear(t, "are in no profile")
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, p)
	f := new(flood)
	f.now.Store(1<<16 + 100)
	p.SetReader(f.read)
	profileCPU(t, p, 10*time.Millisecond)
	if got := p.Status().CPUSamplesDropped; got < 100 || heard() != 1 {
		t.Errorf("%d samples dropped, want 100 at least; otel.Handle heard of it %d times", got, heard())
	}
}
