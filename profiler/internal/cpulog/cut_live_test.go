// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package cpulog

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livetest"
)

// running returns a Log that takes samples until the end of the test.
func running(t *testing.T, hz int) *Log {
	t.Helper()
	known(t)
	pokeSamples = 0
	var records int64 // of poke
	l := New(hz, func() ([]uint64, []*goruntime.LabelSet, bool) {
		words, labels, eof := goruntime.ReadCPUProfile()
		for rest := words; len(rest) > 0; rest = rest[rest[0]:] {
			if isPoke(rest[3:rest[0]]) {
				records++
			}
		}
		return words, labels, eof
	})
	end := record(l)
	t.Cleanup(func() {
		end()
		p, err := l.Cut()
		if err != nil {
			t.Error(err)
		}
		// A last signal may have come too late.
		samples := samplesOf(p.Profile, "cpulog.poke") + pokeSamples
		if late := l.signals.sent.Load() + samples - records; late < 0 || late > 1 {
			t.Errorf("%d samples of the time that %d signals of ours took, of %d records", samples, l.signals.sent.Load(), records)
		}
	})
	return l
}

// record starts the sampling of l, and returns when l has received a signal of its own: until
// then a cut does not wait long for a busy machine. The function that it returns ends that.
func record(l *Log) (end func()) {
	end = recordUnheard(l)
	for recorded := !canPoke; !recorded; {
		<-time.After(time.Millisecond)
		l.mu.Lock()
		recorded = l.recorded
		l.mu.Unlock()
	}
	return end
}

//go:noinline
func busy(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 1000 {
			n++
		}
	}
}

// Every sample is in the piece of its time, whether the reader is awake or sleeps
// when it is cut.
func TestCutHasAllSamples(t *testing.T) {
	for name, asleep := range map[string]bool{"awake": false, "asleep": true} {
		t.Run(name, func(t *testing.T) {
			l := running(t, 100)
			livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
				before := cut(t, l, nil)
				for n := 0; asleep && Uncut && n < 100; n++ { // for longer than a look takes
					if !l.asleep.Load() {
						n = 0
					}
					<-time.After(time.Millisecond)
				}
				busy(d)
				first := cut(t, l, &before)
				second := cut(t, l, &first)
				if samplesOf(second.Profile, ".busy") > 0 {
					t.Error("samples come after the end of their piece")
				}
				return livetest.Few(samplesOf(first.Profile, ".busy"), 1, "samples")
			})
		})
	}
}

// Cuts come as fast as one likes.
func TestManyCuts(t *testing.T) {
	l := running(t, 100)
	if !Uncut {
		t.Skipf("the runtime of %s is stopped for each", runtime.GOOS)
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					busy(time.Millisecond)
				}
			}
		})
	}
	before := cut(t, l, nil)
	var n int64
	for range 300 {
		before = cut(t, l, &before)
		n += samplesOf(before.Profile, ".busy")
	}
	close(stop)
	working.Wait()
	t.Logf("%d samples", n)
}

// recordUnheard is record for a test without a signal that makes a record.
func recordUnheard(l *Log) (end func()) {
	var reading sync.WaitGroup
	reading.Go(func() {
		l.Begin()
		l.Record()
	})
	<-l.Reading()
	return func() {
		l.End()
		reading.Wait()
	}
}

// pokeSamples counts samples of the time of our own signals.
var pokeSamples int64

// cut takes a piece that lacks nothing and begins at the end of the last one.
func cut(t *testing.T, l *Log, before *Piece) Piece {
	t.Helper()
	p, err := l.Cut()
	if err != nil {
		t.Fatal(err)
	}
	if p.Restarted && Uncut {
		t.Error("the runtime was stopped for a cut")
	}
	if before != nil && !p.Restarted && p.Start.Sub(before.End) != 0 {
		t.Errorf("a piece begins at %v, and the one before has ended at %v", p.Start, before.End)
	}
	if len(p.Times) != len(p.Profile.Sample) {
		t.Fatalf("times of %d samples, of %d", len(p.Times), len(p.Profile.Sample))
	}
	for i, s := range p.Profile.Sample {
		if int64(len(p.Times[i])) != s.Value[0] {
			t.Errorf("%d times of a sample of %d", len(p.Times[i]), s.Value[0])
		}
		for _, at := range p.Times[i] {
			if at < p.Start.UnixNano() || at > p.End.UnixNano() {
				t.Errorf("a sample at %d in a piece from %v to %v", at, p.Start, p.End)
			}
		}
	}
	pokeSamples += samplesOf(p.Profile, "cpulog.poke")
	return p
}

// A goroutine can cut that has not been off its thread since before the run began: the
// runtime takes no samples there.
func TestCutWithoutASwitch(t *testing.T) {
	known(t)
	for range 20 {
		l := New(100, goruntime.ReadCPUProfile)
		var reading sync.WaitGroup
		reading.Go(func() {
			l.Begin()
			l.Record()
		})
		for begun := false; !begun; {
			select {
			case <-l.Reading():
				begun = true
			default: // no switch
			}
		}
		for n := 0; Uncut && n < 1000; n++ {
			if !l.asleep.Load() {
				n = 0
			}
		}
		cut(t, l, nil)
		l.End()
		reading.Wait()
	}
}
