// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler/internal/wall"
)

const defaultWallBudget = 0.01

// WallStatus is about the samples of [exporter.KindWall], and their cost. A round is one look
// at the stacks of all goroutines. The counters count from New.
type WallStatus struct {
	// CPU is the CPU time of rounds and profiles, measured on their thread, and 150 us for
	// each round: the waking of threads cannot be measured. On systems other than Linux it
	// is the time that passed, which is more.
	CPU time.Duration
	// Rounds is the number of rounds. RoundsSkipped is the number of rounds that the budget
	// did not allow.
	Rounds, RoundsSkipped uint64
	// Unwatched is time between rounds that is in no profile: the part beyond three times the
	// planned interval, and windows without a round. The process was stopped or suspended, or
	// waited for a CPU.
	Unwatched time.Duration
	// Samples is the number of goroutines that rounds have found with the labels of a span,
	// each time counted. SamplesDropped is the number of samples that are in no profile
	// because the window had 65,536 different ones.
	Samples, SamplesDropped uint64
}

// wallClock makes windows of the samples of package wall.
type wallClock struct {
	sampler *wall.Sampler
	opened  time.Time // the loop alone uses it
}

func newWallClock(budget float64) *wallClock {
	return &wallClock{sampler: wall.New(budget)}
}

func (w *wallClock) start() error {
	w.opened = time.Now()
	w.sampler.Start()
	return nil
}

func (w *wallClock) rotate() (*exporter.Profile, error) { return w.window(w.sampler.Rotate()) }

func (w *wallClock) stop() (*exporter.Profile, error) { return w.window(w.sampler.Stop()) }

func (w *wallClock) window(p *profile.Profile, err error) (*exporter.Profile, error) {
	opened := w.opened
	w.opened = time.Now()
	if err != nil {
		err = fmt.Errorf("wall profile: %w", err)
	}
	if p == nil {
		return nil, err
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindWall,
		Start:    opened,
		Duration: w.opened.Sub(opened),
	}, p), err
}

func (w *wallClock) status() WallStatus { return WallStatus(w.sampler.Stats()) }
