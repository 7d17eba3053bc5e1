// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// recordUnheard is record for a test in which no signal is heard, or none has been yet.
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

// pokeSamples counts those of the time of our own signals that a test has cut.
var pokeSamples int64

// samplesOf counts those of a function.
func samplesOf(p *profile.Profile, function string) (n int64) {
	for _, s := range p.Sample {
		for _, loc := range s.Location {
			if len(loc.Line) > 0 && strings.HasSuffix(loc.Line[len(loc.Line)-1].Function.Name, function) {
				n += s.Value[0]
				break
			}
		}
	}
	return n
}

// cut is a piece of which nothing may be missing, begun where the one before ended.
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

// Times are bounded, and those that are left are spread over all.
func TestTimesAreBounded(t *testing.T) {
	known(t)
	l := ended(100)
	stack := []uint64{uint64(funcPC(known)) + 1}
	const n = maxTimes + maxTimes/2
	for i := range int64(n) {
		l.open.count(stack, nil, i, 1)
	}
	p, err := l.Cut()
	if err != nil {
		t.Fatal(err)
	}
	got := p.Times[0]
	if p.Profile.Sample[0].Value[0] != n || len(got) > maxTimes || len(got) < maxTimes/2 {
		t.Errorf("%d times of %d samples", len(got), p.Profile.Sample[0].Value[0])
	}
	late := 0
	for _, at := range got {
		if at-p.Start.UnixNano() >= n/2 {
			late++
		}
	}
	if share := float64(late) / float64(len(got)); share < 0.45 || share > 0.55 {
		t.Errorf("%.2f of the times are of the second half", share)
	}
}
