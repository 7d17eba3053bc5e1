// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

var update = flag.Bool("update", false, "write the golden files")

// recordings are traces of internal/integration/knownwaits, by
//
//	go build -trimpath -o knownwaits ./internal/integration/knownwaits
//	./knownwaits -rounds 1 -o exectrace/testdata/go1.26.trace
//
// and with GOTOOLCHAIN=go1.27.3 for the other.
var recordings = []string{"go1.26", "go1.27"}

func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".trace"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRecordings(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			a, err := exectrace.Analyze(bytes.NewReader(recording(t, name)), exectrace.WithSlowest(100))
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, a)
			for _, s := range a.Spans {
				for _, g := range s.Goroutines {
					if len(g.States) > 0 && len(g.Intervals) == 0 || len(g.Intervals) > 250 {
						t.Errorf("span %q: goroutine %d has %d intervals", s.Name, g.ID, len(g.Intervals))
					}
				}
			}
			if a.Marked != a.Roots || a.Start.IsZero() {
				t.Errorf("%d of %d local roots have an id, and the start is %v", a.Marked, a.Roots, a.Start)
			}
			var text strings.Builder
			if err := a.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() != string(want) {
				t.Errorf("the text differs from %s; see the difference by go test -run Recordings -update and git diff", golden)
			}
		})
	}
}

// checkSums fails where the states and holes of a span, or the steps of its path, do not
// add up to its duration.
func checkSums(t testing.TB, a *exectrace.Analysis) {
	t.Helper()
	for _, s := range a.Spans {
		var sum, path time.Duration
		for _, state := range s.Goroutines[0].States {
			sum += state.Duration
		}
		for _, h := range s.Holes {
			sum += h.Duration
		}
		for _, step := range s.Path {
			path += step.Duration
		}
		for _, g := range s.Goroutines {
			checkIntervals(t, &s, &g)
		}
		if sum != s.Duration {
			t.Errorf("span %q: states and holes add up to %v, the span to %v", s.Name, sum, s.Duration)
		}
		if path += s.PathOmitted; path > s.Duration {
			t.Errorf("span %q: the path adds up to %v, the span to %v", s.Name, path, s.Duration)
		}
	}
}

// checkIntervals fails where the intervals of a goroutine are not in order, or not as long
// together as its states.
func checkIntervals(t testing.TB, s *exectrace.Span, g *exectrace.Goroutine) {
	t.Helper()
	var states, sum, at time.Duration
	for _, state := range g.States {
		states += state.Duration
	}
	for _, interval := range g.Intervals {
		if interval.Start < at || interval.Duration <= 0 {
			t.Errorf("span %q: an interval of goroutine %d begins at %v and takes %v, after %v", s.Name, g.ID, interval.Start, interval.Duration, at)
		}
		sum += interval.Duration
		at = interval.Start + interval.Duration
	}
	if len(g.Intervals) > 0 && sum != states || at > s.Duration {
		t.Errorf("span %q: the intervals of goroutine %d add up to %v and end at %v, its states to %v", s.Name, g.ID, sum, at, states)
	}
	if len(g.Intervals) > 2000 {
		t.Errorf("span %q: goroutine %d has %d intervals", s.Name, g.ID, len(g.Intervals))
	}
}

func TestChoice(t *testing.T) {
	data := recording(t, "go1.26")
	analyze := func(options ...exectrace.AnalyzeOption) []exectrace.Span {
		t.Helper()
		a, err := exectrace.Analyze(bytes.NewReader(data), options...)
		if err != nil {
			t.Fatal(err)
		}
		return a.Spans
	}
	if n := len(analyze()); n != 20 {
		t.Errorf("%d spans by default, want 20", n)
	}
	slowest := analyze(exectrace.WithSlowest(2))
	if len(slowest) != 2 || slowest[0].Duration < slowest[1].Duration {
		t.Fatalf("the 2 slowest are %d spans", len(slowest))
	}
	if byID := analyze(exectrace.WithSpanIDs(slowest[1].ID)); len(byID) != 1 || byID[0].Name != slowest[1].Name {
		t.Errorf("by the id of %q: %d spans", slowest[1].Name, len(byID))
	}
	if byName := analyze(exectrace.WithName("mutex")); len(byName) != 1 || byName[0].Name != "mutex" {
		t.Errorf("by name: %d spans", len(byName))
	}
	if none := analyze(exectrace.WithName("no such name")); len(none) != 0 {
		t.Errorf("by a name that no span has: %d spans", len(none))
	}
}

func TestErrors(t *testing.T) {
	whole := recording(t, "go1.26")
	broken := errors.New("broken")
	for _, test := range []struct {
		name    string
		r       io.Reader
		options []exectrace.AnalyzeOption
		want    string
	}{
		{"nothing", strings.NewReader(""), nil, "exectrace: not an execution trace of Go: save /debug/pprof/trace, or what runtime/trace wrote"},
		{"a profile", strings.NewReader("\x1f\x8b and more of it, and more"), nil, "exectrace: not an execution trace of Go: save /debug/pprof/trace, or what runtime/trace wrote"},
		{"an old trace", strings.NewReader("go 1.21 trace\x00\x00\x00"), nil, "exectrace: the trace's format is that of go 1.21; known are go 1.22, 1.23, 1.25 and 1.26, which Go 1.27 writes too"},
		{"a trace of the future", strings.NewReader("go 1.99 trace\x00\x00\x00"), nil, "exectrace: the trace's format is that of go 1.99; known are go 1.22, 1.23, 1.25 and 1.26, which Go 1.27 writes too"},
		{"too long", bytes.NewReader(whole), []exectrace.AnalyzeOption{exectrace.WithMaxInput(1000)}, "exectrace: the trace has more than 1000 bytes: record a shorter time"},
		{"an error", io.MultiReader(bytes.NewReader(whole[:5000]), iotest.ErrReader(broken)), nil, "broken"},
		{"an error at once", iotest.ErrReader(broken), nil, "broken"},
	} {
		if a, err := exectrace.Analyze(test.r, test.options...); err == nil || err.Error() != test.want || a != nil {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	_, err := exectrace.Analyze(bytes.NewReader(whole[:len(whole)-1000]))
	if parse, ok := errors.AsType[*exectrace.ParseError](err); !ok || !strings.HasPrefix(parse.Error(), "exectrace: the trace is damaged, or was cut off: ") {
		t.Errorf("cut off: error %v", err)
	}
	if format, ok := errors.AsType[*exectrace.FormatError](func() error { _, err := exectrace.Analyze(strings.NewReader("go 1.99 trace\x00\x00\x00")); return err }()); !ok || format.Format != "go 1.99" {
		t.Errorf("a trace of the future: %v", format)
	}
}

// A trace that needs more memory than there is for it is read in part, and says so.
func TestCut(t *testing.T) {
	a, err := exectrace.Analyze(bytes.NewReader(recording(t, "go1.26")), exectrace.WithMaxBytes(60_000))
	if err != nil {
		t.Fatal(err)
	}
	if !a.Cut {
		t.Error("the trace was read to its end")
	}
	for _, s := range a.Spans {
		if says := strings.Contains(reasons(&s), "not read further"); says != s.Open {
			t.Errorf("span %q is open: %t, holes: %s", s.Name, s.Open, reasons(&s))
		}
	}
	checkSums(t, a)
}

// FuzzAnalyze: no input makes it panic, run for ever or add up wrongly. Fuzz it with
// -fuzzminimizetime 1x: with its default, go test makes one trace smaller for a minute.
func FuzzAnalyze(f *testing.F) {
	for _, name := range recordings {
		f.Add(recording(f, name))
	}
	f.Add([]byte("go 1.23 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := exectrace.Analyze(bytes.NewReader(data), exectrace.WithMaxBytes(1<<20), exectrace.WithMaxInput(1<<20))
		if err != nil {
			if a != nil {
				t.Error("an analysis and an error")
			}
			_, format := errors.AsType[*exectrace.FormatError](err)
			_, parse := errors.AsType[*exectrace.ParseError](err)
			_, size := errors.AsType[*exectrace.SizeError](err)
			if !format && !parse && !size {
				t.Errorf("an error of type %T: %v", err, err)
			}
			return
		}
		checkSums(t, a)
		if err := a.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
	})
}

func reasons(s *exectrace.Span) string {
	var list []string
	for _, h := range s.Holes {
		list = append(list, h.Reason)
	}
	return strings.Join(list, "; ")
}
