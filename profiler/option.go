// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

const (
	defaultWindow = 10 * time.Second
	minWindow     = 100 * time.Millisecond
)

// known are the kinds that there is a sampler for.
var known = []exporter.Kind{exporter.KindCPU, exporter.KindHeap, exporter.KindWall}

// standard are the kinds that are measured unless WithKinds says otherwise.
var standard = []exporter.Kind{exporter.KindCPU, exporter.KindHeap}

// Option sets something of a Profiler.
type Option interface {
	apply(c config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// config is what the options set.
type config struct {
	window   time.Duration
	resource *resource.Resource
	kinds    []exporter.Kind

	wallBudget float64
}

// WithWindow sets how long a window is: how soon a profile arrives, unless
// Flush asks for it. The default is 10 s. Each end of a CPU window loses about
// 20 ms of samples: 0.2 % of 10 s, but a fifth of 100 ms, which is why New
// refuses less than that.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.window = d
		return c
	})
}

// WithResource sets what the profiles say about whose they are. It should be
// the resource of the TracerProvider, so that service.name is the same on
// profiles and spans. The default is resource.Default(); New refuses nil.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		c.resource = r
		return c
	})
}

// WithKinds sets what is measured. The default is CPU and heap. New refuses
// kinds that it does not know, and none at all.
func WithKinds(kinds ...exporter.Kind) Option {
	kinds = slices.Clone(kinds)
	return optionFunc(func(c config) config {
		c.kinds = kinds
		return c
	})
}

func newConfig(opts []Option) (config, error) {
	c := config{
		window:   defaultWindow,
		resource: resource.Default(),
		kinds:    standard,

		wallBudget: defaultWallBudget,
	}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
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
