// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
)

// burn takes CPU time for d, under the label test=value.
func burn(value string, d time.Duration) {
	labelled(value, func() { burning(d) })
}

func labelled(value string, f func()) {
	pprof.Do(context.Background(), pprof.Labels("test", value), func(context.Context) { f() })
}

// unlabelled takes CPU time without a label.
//
//go:noinline
func unlabelled(d time.Duration) { burning(d) }

//go:noinline
func burning(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 1000 {
			n++
		}
	}
}

// doubling plays a scenario, with twice the time to burn each time, until it
// returns that the samples have come.
func doubling(t *testing.T, scenario func(d time.Duration) bool) {
	t.Helper()
	for d := 50 * time.Millisecond; d <= longest; d *= 2 {
		if scenario(d) {
			return
		}
	}
	t.Fatalf("no sample in %v of work", longest)
}

// until returns when condition holds, looking at ever longer intervals.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for d, waited := time.Millisecond, time.Duration(0); !condition(); d *= 2 {
		if waited > 4*longest {
			t.Fatalf("still not after %v", waited)
		}
		<-time.After(d)
		waited += d
	}
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

// stacks returns those of all goroutines. One that has not run yet is known by what has
// created it alone, which the form of debug=1 does not tell.
func stacks() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2) // a Builder takes everything
	return b.String()
}

// profiling reports whether a CPU profile is running. It starts none to find out:
// somebody who wants one just then would be refused.
func profiling() bool { return strings.Contains(stacks(), "runtime/pprof.profileWriter") }

// free returns when nobody uses the CPU profiler or is about to: neither a loop
// that Shutdown did not wait for, nor a Profile whose caller has gone, nor a call
// that waited for somebody's StopCPUProfile.
func free(t *testing.T) {
	t.Helper()
	users := []string{"runtime/pprof.profileWriter", "created by github.com/spanprof/spanprof/profiler.(*Profiler).Start", "profileCPU", "abandon", "(*cpu).try"}
	until(t, func() bool {
		all := stacks()
		return !slices.ContainsFunc(users, func(user string) bool { return strings.Contains(all, user) })
	})
	startForeign(t).stop(t)
}
