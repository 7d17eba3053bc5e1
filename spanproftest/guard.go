// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanproftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/profiler"
)

const (
	rounds = 10
	// round is how long the work of a round takes at least: 100 samples of CPU on two cores.
	round = time.Second / 2
	// floor is the least growth that fails, whatever the noise is.
	floor = 1.05
)

// costs are the costs of a span in each round, by unit.
type costs map[string][]float64

// The units of costs.
const (
	cpu   = "CPU"             // ns
	bytes = "bytes"           // allocated
	locks = "waits for locks" // ns
)

// record is the file.
type record struct {
	Machine string           `json:"machine"`
	Build   string           `json:"build,omitempty"` // flags that change all costs
	Names   map[string]costs `json:"names"`
}

// Guard calls run for about five seconds, in ten rounds, and again after a growth. run does the work to be guarded with
// spans of tp, at least one. Guard compares the costs of local root spans, by name, with file.
// A cost has grown if the growth is beyond the noise and more than 5 %. In 99 % of runs without
// a difference the noise is larger. Other work on the machine may slow a whole run. So a growth
// is measured again, and is an error of the test if the second run has it too. All other
// results are logged, also a cost that cannot be compared.
//
// Bytes and waits for locks need [spanprof.Handler] or [spanprof.Do] around the work. A cost
// without samples in a round is not compared. CPU is compared only with a file of the same
// architecture, number of cores and Go version, and without -cpuprofile. Nothing is compared
// with a file of a build with other -race or -cover flags.
//
// Tests with Guard must not run in parallel with others: a process has one profiler.
func Guard(tb testing.TB, file string, run func(ctx context.Context, tp trace.TracerProvider)) {
	tb.Helper()
	got, err := measure(tb.Context(), run)
	if err != nil {
		tb.Fatalf("spanproftest: %v", err)
	}
	data, err := files.Read(file, files.Follow, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		if data, err = json.MarshalIndent(got, "", "\t"); err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o644)
		}
		if err != nil {
			tb.Fatalf("spanproftest: %v", err)
		}
		tb.Logf("spanproftest: wrote %s; the next run is compared with it", file)
		return
	}
	var want record
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		tb.Fatalf("spanproftest: read %s: %v: delete it to write a new one", file, err)
	}
	check(tb, &want, got, func() (*record, error) { return measure(tb.Context(), run) })
}

// check reports what has grown in got and in a second run.
func check(tb testing.TB, want, got *record, again func() (*record, error)) {
	tb.Helper()
	first := grown(tb, want, got)
	if len(first) == 0 {
		return
	}
	got, err := again()
	if err != nil {
		tb.Fatalf("spanproftest: %v", err)
	}
	second := grown(tb, want, got)
	maps.DeleteFunc(second, func(c cost, _ string) bool { return first[c] == "" })
	for _, text := range slices.Sorted(maps.Values(second)) {
		tb.Error(text)
	}
}

// cost is what a run has of a span.
type cost struct{ name, unit string }

// grown logs all costs, and returns those that have grown with their texts.
func grown(tb testing.TB, want, got *record) map[cost]string {
	tb.Helper()
	all := map[cost]string{}
	if want.Build != got.Build {
		tb.Logf("spanproftest: not compared: the file is of a build with flags %q, this one has %q", want.Build, got.Build)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(want.Names)) {
		of, ok := got.Names[name]
		if !ok {
			all[cost{name, ""}] = name + ": no span has this name any more"
			continue
		}
		for _, unit := range []string{cpu, bytes, locks} {
			before, after := want.Names[name][unit], of[unit]
			switch {
			case len(before) == 0 && len(after) == 0:
				continue
			case len(before) == 0 || len(after) == 0:
				tb.Logf("%s: %s not compared: the file has %d rounds with samples, this run %d", name, unit, len(before), len(after))
				continue
			case unit == cpu && want.Machine != got.Machine:
				tb.Logf("%s: %s not compared: the file is of %s, this run of %s", name, unit, want.Machine, got.Machine)
				continue
			}
			ratio, noise := compare.Ratio(before, after)
			text := fmt.Sprintf("%s: %+.0f %% %s (noise ±%.0f %%)", name, 100*(ratio-1), unit, 100*(noise-1))
			tb.Log(text)
			if ratio > noise && ratio > floor {
				all[cost{name, unit}] = text
			}
		}
	}
	return all
}

// measure returns the costs of run.
func measure(ctx context.Context, run func(context.Context, trace.TracerProvider)) (r *record, err error) {
	spans, sums := &counter{ended: map[string]float64{}}, make(summer)
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	p, err := profiler.New(sums, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap, exporter.KindMutex),
		profiler.WithWindow(time.Hour))
	if err != nil {
		return nil, err
	}
	// Also if run panics or fails the test.
	defer func() { err = errors.Join(err, p.Shutdown(ctx)) }()
	if p.Status().Disabled {
		return nil, errors.New("OTEL_SDK_DISABLED or SPANPROF_DISABLED is set: there are no samples to compare")
	}
	r = &record{
		Machine: fmt.Sprintf("%s, %d cores, %s", runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
		Build:   build(),
		Names:   map[string]costs{},
	}
	for range rounds {
		for begin := time.Now(); time.Since(begin) < round && ctx.Err() == nil; {
			run(ctx, tp)
		}
		runtime.GC() // publishes the allocations
		if err := p.Flush(ctx); err != nil {
			return nil, err
		}
		spans.mu.Lock()
		for name, n := range spans.ended {
			if r.Names[name] == nil {
				r.Names[name] = costs{}
			}
			for unit, sum := range sums[name] {
				r.Names[name][unit] = append(r.Names[name][unit], sum/n)
			}
		}
		clear(spans.ended)
		spans.mu.Unlock()
		clear(sums)
	}
	for _, of := range r.Names {
		maps.DeleteFunc(of, func(_ string, values []float64) bool { return len(values) < rounds })
	}
	if len(r.Names) == 0 {
		return nil, errors.New("no local root span of tp has ended")
	}
	return r, nil
}

// build returns the flags of this test binary that change all costs.
func build() (flags string) {
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		flags = " -race"
	}
	if testing.CoverMode() != "" {
		flags += " -cover"
	}
	return strings.TrimSpace(flags)
}

// counter counts local root spans by name.
type counter struct {
	sdktrace.SpanProcessor
	mu    sync.Mutex
	ended map[string]float64
}

func (*counter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (c *counter) OnEnd(s sdktrace.ReadOnlySpan) {
	if parent := s.Parent(); parent.IsValid() && !parent.IsRemote() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[s.Name()]++
}

// summer sums the samples of spans by name and unit. The profiler calls it one profile at a
// time, before Flush returns.
type summer map[string]map[string]float64

func (s summer) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	units := map[string]string{"cpu": cpu, "alloc_space": bytes, "delay": locks}
	for i, column := range parsed.SampleType {
		unit, ok := units[column.Type]
		for _, sample := range parsed.Sample {
			if names := sample.Label[spanprof.LabelSpanName]; ok && len(names) > 0 && sample.Value[i] > 0 {
				if s[names[0]] == nil {
					s[names[0]] = map[string]float64{}
				}
				s[names[0]][unit] += float64(sample.Value[i])
			}
		}
	}
	return nil
}

func (summer) ForceFlush(context.Context) error { return nil }

func (summer) Shutdown(context.Context) error { return nil }
