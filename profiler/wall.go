// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"fmt"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler/internal/wall"
)

const defaultWallBudget = 0.01

// WithWallBudget sets how much CPU [exporter.KindWall] may take, as a share of
// one core: 0.02 is 20 ms per second. The default is 0.01. More of it is more
// samples. Over a minute at most twice the budget is used, unless rounds cost more
// than those before foretold, by more than the budget of half a minute, or there
// are so many goroutines that one round costs more than that: then the budget is
// saved for it, for up to ten minutes. The first round tells what rounds cost, and
// where there is less than one in ten seconds, otel.Handle hears of it once. New
// refuses what is not above 0 and up to 1.
func WithWallBudget(share float64) Option {
	return optionFunc(func(c config) config {
		c.wallBudget = share
		return c
	})
}

// WithWallOfAllGoroutines has [exporter.KindWall] count goroutines that work for no
// span too: how long each worker waited for work, for example. Without the
// option only goroutines with a label profile_id, span_id or span_name count.
// Those with a stack in common are one sample; still, a program of 10,000
// goroutines that wait in a hundred places gets a hundred samples more in each
// window.
func WithWallOfAllGoroutines() Option {
	return optionFunc(func(c config) config {
		c.wallOfAll = true
		return c
	})
}

var _ sampler = (*wallClock)(nil)

// wallClock makes windows of what package wall samples.
type wallClock struct {
	resource *resource.Resource
	budget   float64
	sampler  *wall.Sampler
	opened   time.Time // the loop alone uses it
}

func newWallClock(r *resource.Resource, budget float64, all bool) *wallClock {
	return &wallClock{resource: r, budget: budget, sampler: wall.New(budget, all)}
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
		Resource: w.resource,
	}, p), err
}

func (w *wallClock) status() WallStatus {
	s := w.sampler.Stats()
	return WallStatus{
		Budget:         w.budget,
		Share:          s.Share,
		Rate:           s.Rate,
		Interval:       s.Interval,
		CPU:            s.CPU,
		Source:         s.Source,
		Rounds:         s.Rounds,
		RoundsSkipped:  s.Skipped,
		Unwatched:      s.Unwatched,
		Freezes:        s.Freezes,
		Samples:        s.Samples,
		SamplesDropped: s.Dropped,
	}
}
