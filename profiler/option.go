// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	defaultWindow = 10 * time.Second
	minWindow     = 100 * time.Millisecond
)

// known are the kinds that exist, in the order of their ends. CPU is last, because a call of
// runtime/pprof may have to wait.
var known = []exporter.Kind{
	exporter.KindHeap, exporter.KindWall, exporter.KindGoroutine, exporter.KindMutex, exporter.KindBlock, exporter.KindCPU,
}

// byDefault are the kinds with hardly any cost.
var byDefault = []exporter.Kind{exporter.KindCPU, exporter.KindHeap}

// Option sets something of a Profiler.
type Option interface {
	apply(c *config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config is what the options set.
type config struct {
	window   time.Duration
	resource *resource.Resource
	// resourceNow is nil if the resource is fixed.
	resourceNow func() *resource.Resource
	kinds       []exporter.Kind

	wallBudget float64
	patience   time.Duration // of cpu
	public     error         // why runtime/pprof reads the CPU samples; nil if it does not
	phase      func(window time.Duration) time.Duration
	optIn      bool
}

// WithWindow sets the length of a window, and so the delay of a profile unless Flush is
// called. The default is 10 s; New refuses less than 100 ms.
//
// A CPU window ends early with samples of 49,152 different stacks and labels, or with a million
// samples. The next one continues from there. So memory is bounded and no sample is lost. 128
// busy cores take 49,152 different ones in 4 s if each request is a span.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c *config) { c.window = d })
}

// WithResource sets the resource attached to profiles. It should be
// the resource of the TracerProvider, so that service.name is the same on
// profiles and spans. The default is resource.Default(); New refuses nil.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c *config) { c.resource, c.resourceNow = r, nil })
}

// WithResourceFunc is WithResource for a resource that is not known until later, such as
// the spans' resource: f is called at the end of each window. If it returns nil the profile
// has resource.Default(). A nil f does nothing.
func WithResourceFunc(f func() *resource.Resource) Option {
	return optionFunc(func(c *config) {
		if f != nil {
			c.resource, c.resourceNow = resource.Default(), f
		}
	})
}

// WithKinds sets what is measured, in place of the default. The default is CPU and heap, and of
// package inprocess wall too. The kinds mutex and block
// are empty unless the program calls runtime.SetMutexProfileFraction and
// runtime.SetBlockProfileRate. New refuses unknown kinds, and an empty list.
func WithKinds(kinds ...exporter.Kind) Option {
	kinds = slices.Clone(kinds)
	return optionFunc(func(c *config) { c.kinds = kinds })
}

// WithWallBudget sets how much CPU [exporter.KindWall] may take, as a share of one core: 0.02
// is 20 ms per second. The default is 0.01. More of it is more samples. Over a minute at most
// twice the budget is used, with two exceptions: rounds that cost much more than the rounds
// before, and so many goroutines that one round costs more. Then the budget is saved for a
// round, for up to ten minutes. New refuses a share of 0 or less, or above 1.
func WithWallBudget(share float64) Option {
	return optionFunc(func(c *config) { c.wallBudget = share })
}

func newConfig(opts []Option) (config, error) {
	c := config{
		window:   defaultWindow,
		resource: resource.Default(),
		kinds:    byDefault,
		phase:    rand.N[time.Duration],
		patience: 2 * time.Second,
		public:   goruntime.Unknown(),

		wallBudget: defaultWallBudget,
	}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	switch {
	case c.window < minWindow:
		return config{}, fmt.Errorf("profiler: window of %v is too short: use at least %v", c.window, minWindow)
	case c.resource == nil:
		return config{}, errors.New("profiler: resource is nil: leave WithResource out for resource.Default()")
	case len(c.kinds) == 0:
		return config{}, fmt.Errorf("profiler: no kind to measure: name some of %q or leave WithKinds out", known)
	case !(c.wallBudget > 0 && c.wallBudget <= 1): // NaN too
		return config{}, fmt.Errorf("profiler: wall budget of %v makes no sense: use a share of one core, above 0 and up to 1", c.wallBudget)
	}
	kinds := make([]exporter.Kind, 0, len(c.kinds))
	for _, k := range c.kinds {
		switch {
		case !slices.Contains(known, k):
			return config{}, fmt.Errorf("profiler: unknown kind %q: use some of %q", k, known)
		case !slices.Contains(kinds, k):
			kinds = append(kinds, k)
		}
	}
	c.kinds = kinds
	return c, nil
}

// WithOptIn measures nothing unless the environment has SPANPROF_ENABLED=true. Without it
// the Profiler behaves as with SPANPROF_DISABLED=true.
func WithOptIn() Option {
	return optionFunc(func(c *config) { c.optIn = true })
}
