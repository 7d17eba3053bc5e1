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
	// defaultCPURate is the rate of runtime/pprof, and the only one that it knows.
	defaultCPURate = 100
	// maxCPURate leaves room below the 250 ticks a second of most Linux systems.
	// The samples that came at 97, 199, 250, 333 and 500 Hz there stand for 99, 99,
	// 95, 75 and 50 % of the CPU time that was used.
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

// WithWindow sets how long a window is: how soon a profile arrives, unless
// Flush asks for it. The default is 10 s. The end of a CPU window loses no samples on
// Linux and macOS where the runtime is known (see CPUFallback of [Status]). Elsewhere it
// loses those of about 20 ms, more where all cores are busy: 0.2 % of 10 s, but a fifth
// of 100 ms, which is why New refuses less than that.
//
// A CPU window that has samples of 49,152 different stacks and labels ends early, and the next one
// goes on from there, so that memory is bounded and no sample lost. 128 busy cores take so many in
// 4 s where each request is a span.
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
		c.resource, c.resourceNow = r, nil
		return c
	})
}

// WithResourceFunc is WithResource for a resource that is not known yet when the
// Profiler is made, such as that of spans: f is called at the end of each window. Where
// it returns nil the profile has resource.Default(). A nil f does nothing.
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

// WithCPURate sets how often [exporter.KindCPU] is sampled, per second of CPU. The
// default is 100. A rate such as 97, 99 or 101 does not run in step with what
// the program does every 10 ms; a higher one costs more.
//
// The samples are read from the runtime by this package, with the time of each:
// through runtime/pprof.readProfile and a few functions that are linked by name, and by the
// layout of label sets, which is verified. runtime/pprof keeps the profile open
// meanwhile, so that it is in use for the program as any profile is. On Linux the
// end of a window sends up to a thousand SIGPROF to its own thread, in some
// milliseconds: by that the runtime gives its samples away without a stop. That CPU
// time is in the profile too, as that of this package. Something else that handles SIGPROF,
// as a C library may, gets a few of them.
//
// What that costs the program: StopCPUProfile, called for our profile while that is just
// beginning, takes some milliseconds longer than runtime/pprof alone would need, and up
// to 20 within a tenth of a second after the end of a window. A busy machine makes that
// longer, since it is found by a look at all goroutines, which waits for a core: of 10,000
// calls while 24 threads wanted two cores, 99 in 100 took up to 50 ms, and the longest
// took a second. If the program
// calls runtime.SetCPUProfileRate while our profile is just beginning, the runtime's
// warning (https://go.dev/issue/42502) appears on stderr, as it does at any other time
// while a profile runs, and the samples of the first window come at the program's
// rate, which the profile tells.
//
// New refuses less than 1 and more than 200: Linux takes samples when its clock
// ticks, 250 times a second on most systems, and at a rate near that or above it
// the profile would show less CPU time than was used. Where the system is known to
// tick less often than the rate, otel.Handle hears of it at the start and
// [Status] says so.
//
// Where the runtime of a Go version is not as this package expects it, which is
// found out when the Profiler is made or, from the form of the samples, later,
// runtime/pprof reads the samples, and the rate is 100. So it is where two ends of windows
// have waited in vain, for up to 10 s, for what those signals do, and with the build tag
// spanprof_public and, at the rate of 100, on systems other than Linux and macOS, where the
// runtime must be stopped to be read. Samples then have no times, and those of a goroutine
// that has outlived its span count for the span. CPURate and CPUFallback of [Status]
// say so; otel.Handle hears of it if another rate was wanted.
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

// WithBlockRate has the runtime count one blocking event, on average, for every
// nanoseconds spent blocked, as runtime.SetBlockProfileRate does, while KindBlock
// is measured. Afterwards the rate is 0, the runtime's default: what it was
// before cannot be read. Without the option it stays as the program has set it:
// 0 unless it did, and then the profiles are empty. New refuses less than 1.
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
