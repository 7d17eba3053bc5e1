// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
)

// profileCPU is what a call of Profile writes.
func profileCPU(t *testing.T, p *profiler.Profiler, d time.Duration) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Profile(t.Context(), &b, exporter.KindCPU, d); err != nil {
		t.Error(err)
		return new(profile.Profile)
	}
	got, err := profile.Parse(&b)
	if err != nil {
		t.Error(err)
		return new(profile.Profile)
	}
	return got
}

// counts sums the samples of each label test=value.
func counts(profiles ...*profile.Profile) map[string]int64 {
	sum := map[string]int64{}
	for _, p := range profiles {
		for _, s := range p.Sample {
			for _, value := range s.Label["test"] {
				sum[value] += s.Value[0]
			}
		}
	}
	return sum
}

// covers reports whether a profile began before and ended after some work. The
// duration that it states leaves the gaps between pieces out.
func covers(p *profile.Profile, begin, end time.Time) bool {
	return p.TimeNanos < begin.UnixNano() && p.TimeNanos+p.DurationNanos > end.UnixNano()
}

// All the work is done while both callers and the windows look: they see the
// same samples.
func TestProfileSharesTheWindows(t *testing.T) {
	for _, hz := range rates() {
		t.Run(strconv.Itoa(hz), func(t *testing.T) { testSharing(t, hz) })
	}
}

func testSharing(t *testing.T, hz int) {
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(hz), profiler.WithWindow(max(100*time.Millisecond, d)))
		var short, long *profile.Profile
		var wg sync.WaitGroup
		wg.Go(func() { long = profileCPU(t, p, 12*d) })
		wg.Go(func() { short = profileCPU(t, p, 8*d) })
		until(t, func() bool { return lane(p).Exported > 0 })
		begin := time.Now()
		burn("all", d)
		end := time.Now()
		wg.Wait()
		shutdown(t, p)
		if !covers(short, begin, end) || !covers(long, begin, end) {
			return "got a profile that began after the work or ended before, want two that cover it"
		}

		var windows []*profile.Profile
		for _, w := range rec.Profiles() {
			windows = append(windows, parsed(t, w))
		}
		want := counts(windows...)
		if diff := cmp.Diff(want, counts(short)); diff != "" {
			t.Errorf("labels of the short profile (-windows +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, counts(long)); diff != "" {
			t.Errorf("labels of the long profile (-windows +got):\n%s", diff)
		}
		return livetest.Few(want["all"], 1, "samples")
	})
}

// A window that scrapes have cut is exported as one profile.
func TestProfileDoesNotCutTheWindows(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(endless))
	begin := p.Status().CPUStart
	// Their own durations: each may begin and end a fifth before its time.
	var profiled int64
	for range 3 {
		profiled += profileCPU(t, p, 20*time.Millisecond).DurationNanos
	}
	if got := p.Status(); !got.CPUStart.Equal(begin) || got.Lanes[0].Exported != 0 {
		t.Errorf("Status() = %+v, want the window that began at %v", got, begin)
	}
	flush(t, p)
	if got := len(rec.Profiles()); got != 2 {
		t.Errorf("%d windows, want one of each kind", got)
	}
	w := last(t, rec) // the CPU window is closed last
	if !w.Start().Equal(begin) || parsed(t, w).DurationNanos <= profiled {
		t.Errorf("window from %v, with %v measured, want all from %v, more than the %v of the profiles",
			w.Start(), time.Duration(parsed(t, w).DurationNanos), begin, time.Duration(profiled))
	}
}

// Callers that begin and end at about the same time share the edges. At this rate the edges are
// a second apart.
func TestProfilesShareEdges(t *testing.T) {
	defer reported.take("cpu profile") // the public API has one rate
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(1), profiler.WithWindow(endless))
		defer shutdown(t, p)
		profiles := make([]*profile.Profile, 8)
		var wg sync.WaitGroup
		for i := range profiles {
			wg.Go(func() { profiles[i] = profileCPU(t, p, 5*d) })
		}
		wg.Wait()
		same := int64(0)
		for _, got := range profiles {
			if got.TimeNanos == profiles[0].TimeNanos && got.DurationNanos == profiles[0].DurationNanos {
				same++
			}
		}
		// On a slow machine some begin after more than d and a second.
		return livetest.Few(same, int64(len(profiles)), "profiles of the same time")
	})
}

func TestProfileByItself(t *testing.T) {
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, p)
	doubling(t, func(d time.Duration) bool {
		profiled := make(chan *profile.Profile)
		go func() { profiled <- profileCPU(t, p, 2*d) }()
		burn("own", d)
		return burned(<-profiled, "own")
	})
}

// A profile by itself is another profile as far as the windows are concerned.
func TestProfileByItselfThenStart(t *testing.T) {
	p, err := profiler.New(new(exportertest.Recorder), profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, p)
	free(t)
	ctx, cancel := context.WithCancel(t.Context())
	profiled := make(chan error)
	go func() { profiled <- p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, endless) }()
	until(t, profiling)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Profile(t.Context(), new(bytes.Buffer), exporter.KindCPU, time.Second); !errors.Is(err, profiler.ErrCPUInUse) {
		t.Errorf("second Profile: %v, want ErrCPUInUse", err)
	}
	cancel()
	if err := <-profiled; !errors.Is(err, context.Canceled) {
		t.Errorf("Profile: %v, want Canceled", err)
	}
	until(t, func() bool { return p.Status().CPU == "profiling" })
	reported.take("cpu profile")
}

// The caller of Profile gives up while another profile is being written: nothing
// is left running.
func TestProfileDuringASlowStop(t *testing.T) {
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t, p)
	release := stopSlowly(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Profile: %v, want DeadlineExceeded", err)
	}
	release()
	free(t)
}

func TestProfileRefuses(t *testing.T) {
	p, _ := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	for _, test := range []struct {
		kind exporter.Kind
		d    time.Duration
		want error
		text string
	}{
		{exporter.KindHeap, time.Second, profiler.ErrUnknownKind, `wrong kind: "heap" cannot be profiled for a time, use one of ["cpu" "wall"]`},
		{"gpu", time.Second, profiler.ErrUnknownKind, `wrong kind: "gpu" cannot be profiled for a time`},
		{exporter.KindCPU, 0, nil, "use a positive duration"},
		{exporter.KindCPU, -1, nil, "use a positive duration"},
	} {
		var b bytes.Buffer
		err := p.Profile(t.Context(), &b, test.kind, test.d)
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || b.Len() > 0 {
			t.Errorf("Profile(%q, %v): %v and %d bytes, want %v with %q", test.kind, test.d, err, b.Len(), test.want, test.text)
		}
	}
	if err := p.Profile(t.Context(), nil, exporter.KindCPU, time.Second); err == nil || !strings.Contains(err.Error(), "writer is nil") {
		t.Errorf("Profile without a writer: %v, want an error that says so", err)
	}
	theirs := startForeign(t)
	if err := p.Profile(t.Context(), new(bytes.Buffer), exporter.KindCPU, time.Second); !errors.Is(err, profiler.ErrCPUInUse) {
		t.Errorf("Profile during another: %v, want ErrCPUInUse", err)
	}
	theirs.stop(t)
}

// Profile returns when its caller gives up, and when there is no more to come.
func TestProfileEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(p *profiler.Profiler, cancel func()) error
		want error
	}{
		{"cancelled", func(_ *profiler.Profiler, cancel func()) error { cancel(); return nil }, context.Canceled},
		{"shut down", func(p *profiler.Profiler, _ func()) error { return p.Shutdown(context.Background()) }, nil},
		{"disabled", func(p *profiler.Profiler, _ func()) error {
			return p.Disable(context.Background(), exporter.KindCPU)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var b bytes.Buffer
			profiled := make(chan error)
			go func() { profiled <- p.Profile(ctx, &b, exporter.KindCPU, endless) }()
			// Afterwards it would be a profile of its own.
			until(t, func() bool { return strings.Contains(stacks(), "profiler.(*tap).write") })
			if err := test.end(p, cancel); err != nil {
				t.Fatal(err)
			}
			if test.want == nil && rec.Profiles() == nil {
				flush(t, p)
			}
			err := <-profiled
			if !errors.Is(err, test.want) {
				t.Errorf("Profile: %v, want %v", err, test.want)
			}
			if err == nil {
				if _, err := profile.Parse(&b); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A profile over more pieces than a tap keeps.
func TestProfileOfManyPieces(t *testing.T) {
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(100*time.Millisecond))
		profiled := make(chan *profile.Profile)
		go func() { profiled <- profileCPU(t, p, 1500*time.Millisecond+2*d) }()
		until(t, func() bool { return lane(p).Exported > 5 })
		begin := time.Now()
		burn("many", d)
		end := time.Now()
		sum := <-profiled
		shutdown(t, p)
		if !covers(sum, begin, end) {
			return "got a profile that began after the work or ended before, want one that covers it"
		}
		var windows []*profile.Profile
		for _, w := range rec.Profiles() {
			windows = append(windows, parsed(t, w))
		}
		if diff := cmp.Diff(counts(windows...), counts(sum)); diff != "" {
			t.Errorf("labels (-windows +got):\n%s", diff)
		}
		return livetest.Few(counts(sum)["many"], 1, "samples")
	})
}
