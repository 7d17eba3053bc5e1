// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	defaultWindow = 10 * time.Second
	minWindow     = 100 * time.Millisecond
	// defaultCPURate is the only rate of runtime/pprof.
	defaultCPURate = 100
	// maxCPURate leaves room below the 250 ticks a second of most Linux systems.
	// Samples at 97 and 199 Hz cover 99 % of the CPU time there; at 250, 333 and 500 Hz
	// they cover 95, 75 and 50 %.
	maxCPURate = 200
)

// byDefault are the kinds that cost next to nothing.
var byDefault = []exporter.Kind{exporter.KindCPU, exporter.KindHeap}

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
	// resourceNow is nil where the resource is fixed.
	resourceNow func() *resource.Resource
	kinds       []exporter.Kind

	cpuRate                  int
	wallBudget               float64
	wallOfAll                bool
	mutexFraction, blockRate int // 0: as the program has set them
	phase                    func(window time.Duration) time.Duration
	unknownRuntime           func() error
	optIn                    bool
	meterProvider            metric.MeterProvider
}

// WithWindow sets the length of a window, and so the delay of a profile unless Flush is
// called. The default is 10 s. On Linux and macOS the end of a CPU window loses no
// samples, see CPUFallback of [Status]. Elsewhere it loses the samples of about 20 ms, more
// if all cores are busy: 0.2 % of 10 s, but a fifth of 100 ms. New refuses less than that.
//
// A CPU window with samples of 49,152 different stacks and labels ends early, and the next one
// continues from there. So memory is bounded and no sample is lost. 128 busy cores take that
// many in 4 s if each request is a span.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c config) config {
		c.window = d
		return c
	})
}

// WithResource sets the resource attached to profiles. It should be
// the resource of the TracerProvider, so that service.name is the same on
// profiles and spans. The default is resource.Default(); New refuses nil.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		c.resource, c.resourceNow = r, nil
		return c
	})
}

// WithResourceFunc is WithResource for a resource that is not known until later, such as
// the spans' resource: f is called at the end of each window. If it returns nil the profile
// has resource.Default(). A nil f does nothing.
func WithResourceFunc(f func() *resource.Resource) Option {
	return optionFunc(func(c config) config {
		if f != nil {
			c.resource, c.resourceNow = resource.Default(), f
		}
		return c
	})
}

// WithKinds sets what is measured. The default is CPU and heap. The kinds mutex and block
// are empty unless WithMutexFraction and WithBlockRate, or the program, set a rate. New
// refuses kinds that it does not know, and none at all.
func WithKinds(kinds ...exporter.Kind) Option {
	kinds = slices.Clone(kinds)
	return optionFunc(func(c config) config {
		c.kinds = kinds
		return c
	})
}

// WithCPURate sets the rate of samples of [exporter.KindCPU], per second of CPU. The
// default is 100. A rate such as 97, 99 or 101 does not run in step with 10 ms timers of the
// program. A higher one costs more. New refuses less than 1 and more than 200: Linux takes
// samples when its clock ticks, 250 times a second on most systems. At a rate near
// that the profile would show less CPU time than was used. A system that is known to tick
// less often is reported through otel.Handle at the start and in [Status].
//
// This package reads the samples from the runtime, with the time of each. It uses
// runtime/pprof.readProfile and a few functions that are linked by name, and verifies the
// layout of label sets. runtime/pprof keeps the profile open meanwhile, so it is in use
// for the program like any profile. On Linux the end of a window sends up to a thousand
// SIGPROF to its own thread, in some milliseconds: then the runtime passes on its samples
// without a stop. That CPU time is in the profile too, under this package. Another handler of
// SIGPROF, such as a C library's, gets a few of them.
//
// The program pays for that in two calls. StopCPUProfile for our profile takes some
// milliseconds longer while that begins, and up to 20 just after a window. A busy machine makes that longer, because it needs a look at all
// goroutines. Of 10,000 calls while 24 threads wanted two cores, 1 % took more than
// 50 ms, and the longest a second. runtime.SetCPUProfileRate prints the runtime's warning
// (https://go.dev/issue/42502) on stderr, as it does while any profile runs. If our profile
// is just beginning, its first window has the program's rate.
//
// runtime/pprof reads the samples at a rate of 100 in these cases:
//
//   - the runtime of the Go version is unexpected, at New or later by the form of the samples
//   - two ends of windows have waited up to 10 s for the effect of those signals
//   - the build tag spanprof_public is set
//   - the rate is 100 and the system is not Linux or macOS, where only a stop of the runtime
//     yields the samples
//
// Samples then have no times, and samples of a goroutine that has outlived its span count for
// the span. CPURate and CPUFallback of [Status] have the state. It is reported through
// otel.Handle if another rate was wanted.
func WithCPURate(hz int) Option {
	return optionFunc(func(c config) config {
		c.cpuRate = hz
		return c
	})
}

// WithMutexFraction has the runtime count one in n contended mutexes, as
// runtime.SetMutexProfileFraction does, while KindMutex is measured; afterwards
// the fraction is what it was before. Without the option it stays as the program
// has set it: 0 unless it did, and then the profiles are empty. New refuses
// less than 1.
func WithMutexFraction(n int) Option {
	return optionFunc(func(c config) config {
		c.mutexFraction = n
		if n < 1 {
			c.mutexFraction = -1
		}
		return c
	})
}

// WithBlockRate sets the rate of runtime.SetBlockProfileRate while KindBlock is measured: the
// runtime counts, on average, one blocking event per nanoseconds spent blocked. Afterwards the
// rate is 0, the runtime's default, because the earlier rate cannot be read. Without the
// option it stays as the program has set it: by default 0, and then the profiles are empty.
// New refuses less than 1.
func WithBlockRate(nanoseconds int) Option {
	return optionFunc(func(c config) config {
		c.blockRate = nanoseconds
		if nanoseconds < 1 {
			c.blockRate = -1
		}
		return c
	})
}

func newConfig(opts []Option) (config, error) {
	c := config{
		window:   defaultWindow,
		resource: resource.Default(),
		kinds:    byDefault,
		phase:    rand.N[time.Duration],

		unknownRuntime: goruntime.Unknown,

		cpuRate:    defaultCPURate,
		wallBudget: defaultWallBudget,

		meterProvider: otel.GetMeterProvider(),
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
	case c.cpuRate < 1 || c.cpuRate > maxCPURate:
		return config{}, fmt.Errorf("profiler: cpu rate of %d Hz: use 1 to %d, at which systems lose no samples", c.cpuRate, maxCPURate)
	case c.mutexFraction < 0:
		return config{}, errors.New("profiler: mutex fraction is less than 1: use n to count one in n, or leave WithMutexFraction out")
	case c.blockRate < 0:
		return config{}, errors.New("profiler: block rate is less than 1: use nanoseconds, or leave WithBlockRate out")
	case c.meterProvider == nil:
		return config{}, errors.New("profiler: meter provider is nil: leave WithMeterProvider out for the global one")
	case len(c.kinds) == 0:
		return config{}, fmt.Errorf("profiler: no kind to measure: name some of %q or leave WithKinds out", known)
	case !(c.wallBudget > 0 && c.wallBudget <= 1): // NaN too
		return config{}, fmt.Errorf("profiler: wall budget of %v makes no sense: use a share of one core, above 0 and up to 1", c.wallBudget)
	}
	kinds := make([]exporter.Kind, 0, len(c.kinds))
	for _, k := range c.kinds {
		switch {
		case !slices.Contains(known, k):
			return config{}, fmt.Errorf("%w: %q: use some of %q", ErrUnknownKind, k, known)
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
	return optionFunc(func(c config) config {
		c.optIn = true
		return c
	})
}
