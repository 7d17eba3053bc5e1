// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
)

// stacks returns the profile of this goroutine, by the public API.
func stacks(t *testing.T) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		t.Error(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return strings.HasSuffix(l.Line[0].Function.Name, ".stacks") })
	})
	return p
}

// frames returns the label of the only sample, and how many of its frames are markers.
func frames(t *testing.T, p *profile.Profile) (name string, markers int) {
	t.Helper()
	if len(p.Sample) != 1 {
		t.Fatalf("got %d samples, want 1", len(p.Sample))
	}
	for _, l := range p.Sample[0].Location {
		for _, line := range l.Line {
			if marker.IsFrame(line.Function.Name) {
				markers++
			}
		}
	}
	return strings.Join(p.Sample[0].Label[labelkey.SpanName], ","), markers
}

// Each of 300 names comes back from a real stack, those beyond 255 as other; the frames are
// removed.
func TestNames(t *testing.T) {
	for i := range 300 {
		name := fmt.Sprint("GET /", i)
		var p *profile.Profile
		marker.Do(t.Context(), name, func(context.Context) { p = stacks(t) })
		if _, markers := frames(t, p); markers < 2 {
			t.Fatalf("%s: %d frames of markers, want 2 at least", name, markers)
		}
		Label(p)
		want := name
		if i >= 255 {
			want = marker.Other
		}
		if got, markers := frames(t, p); got != want || markers > 0 {
			t.Fatalf("got %q and %d frames of markers, want %q without", got, markers, want)
		}
	}
}

// The innermost marker has the sample: a worker's job, not the request around it.
func TestNested(t *testing.T) {
	var p *profile.Profile
	marker.Do(t.Context(), "GET /0", func(ctx context.Context) {
		marker.Do(ctx, "GET /1", func(context.Context) { p = stacks(t) })
	})
	Label(p)
	if got, markers := frames(t, p); got != "GET /1" || markers > 0 {
		t.Errorf("got %q, %d frames of markers", got, markers)
	}
}

// Calls that a profile-guided build inlines into a digit stay.
func TestInlinedWork(t *testing.T) {
	var p *profile.Profile
	marker.Do(t.Context(), "GET /0", func(context.Context) { p = stacks(t) })
	work := &profile.Function{ID: uint64(len(p.Function) + 1), Name: "net/http.HandlerFunc.ServeHTTP"}
	p.Function = append(p.Function, work)
	for _, l := range p.Location {
		if _, ok := marker.Digit(l.Line[len(l.Line)-1].Function.Name); ok {
			l.Line = append([]profile.Line{{Function: work}}, l.Line...)
		}
	}
	Label(p)
	stays := slices.ContainsFunc(p.Sample[0].Location, func(l *profile.Location) bool { return l.Line[0].Function == work })
	if got, markers := frames(t, p); got != "GET /0" || markers > 0 || !stays {
		t.Errorf("got %q, %d frames of markers, want the inlined call in\n%s", got, markers, p)
	}
	if err := p.Write(io.Discard); err != nil {
		t.Error(err)
	}
}

// A stack that was cut between the digits has no name.
func TestCutStack(t *testing.T) {
	var p *profile.Profile
	marker.Do(t.Context(), "GET /0", func(context.Context) { p = stacks(t) })
	s := p.Sample[0]
	last := slices.IndexFunc(s.Location, func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(line profile.Line) bool {
			_, ok := marker.Digit(line.Function.Name)
			return ok
		})
	})
	s.Location = s.Location[:last+1]
	Label(p)
	if got, markers := frames(t, p); got != "" || markers > 0 {
		t.Errorf("got %q, %d frames of markers", got, markers)
	}
}
