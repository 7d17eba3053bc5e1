// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/livetest"
)

// burn takes CPU time for d, under the label test=value.
func burn(value string, d time.Duration) {
	labelled(value, func() { burning(d) })
}

func labelled(value string, f func()) {
	pprof.Do(context.Background(), pprof.Labels("test", value), func(context.Context) { f() })
}

//go:noinline
func burning(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 1000 {
			n++
		}
	}
}

// doubling repeats a scenario with twice the work each time, until it returns true: each kind
// of sample that the test wants was there.
func doubling(t *testing.T, scenario func(d time.Duration) bool) {
	t.Helper()
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		if scenario(d) {
			return ""
		}
		return "got 0 samples of some kind, want 1 of each"
	})
}

// burned reports whether a profile has samples of burn with value.
func burned(p *profile.Profile, value string) bool {
	return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.Equal(s.Label["test"], []string{value}) && hasFunction(s, "burning")
	})
}

func hasFunction(s *profile.Sample, name string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.HasSuffix(line.Function.Name, "."+name) {
				return true
			}
		}
	}
	return false
}

func parsed(t *testing.T, p *exporter.Profile) *profile.Profile {
	t.Helper()
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// last returns the newest profile.
func last(t *testing.T, rec *exportertest.Recorder) *exporter.Profile {
	t.Helper()
	all := rec.Profiles()
	if len(all) == 0 {
		t.Fatal("no profile was exported")
	}
	return all[len(all)-1]
}

// stacks returns the stacks of all goroutines. A goroutine that has not run yet has only its
// creator there, which the form of debug=1 lacks.
func stacks() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2) // a Builder takes everything
	return b.String()
}

// profiling reports whether a CPU profile is running. It starts none to find out:
// another caller of StartCPUProfile would then be refused.
func profiling() bool { return strings.Contains(stacks(), "runtime/pprof.profileWriter") }

// free returns when the CPU profiler has no users, present or pending. Users are a loop
// after Shutdown, and a Profile after the end of its caller. A call that waited for another
// StopCPUProfile is one, too.
func free(t *testing.T) {
	t.Helper()
	users := []string{"runtime/pprof.profileWriter", "created by github.com/spanprof/spanprof/profiler.New", "abandon", "(*cpu).try", "(*cpuRun).confirm"}
	livetest.Until(t, func() bool {
		all := stacks()
		return !slices.ContainsFunc(users, func(user string) bool { return strings.Contains(all, user) })
	})
	startForeign(t)()
}

// startForeign starts a CPU profile that the program runs by itself. stop ends it and returns it.
func startForeign(t *testing.T) (stop func() *profile.Profile) {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	return func() *profile.Profile {
		t.Helper()
		pprof.StopCPUProfile()
		p, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// wait returns when an error with a text was reported, some time after the call that found it.
func (l *errorLog) wait(t *testing.T, text string) {
	t.Helper()
	livetest.Until(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.ContainsFunc(l.errs, func(err error) bool { return strings.Contains(err.Error(), text) })
	})
}

// take empties the log and returns the errors with something in their text.
// Profilers of other tests may have reported too.
func (l *errorLog) take(something string) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := slices.DeleteFunc(l.errs, func(err error) bool { return !strings.Contains(err.Error(), something) })
	l.errs = nil
	return errs
}
