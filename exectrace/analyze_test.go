// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// recordings are traces of internal/integration/knownwaits, by
//
//	go build -trimpath -o knownwaits ./internal/integration/knownwaits
//	./knownwaits -rounds 1 -o exectrace/testdata/go1.26.trace
//
// and with GOTOOLCHAIN=go1.27.3 for the other.
var recordings = []string{"go1.26", "go1.27"}

func recordingOf(t testing.TB, name string) []byte {
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
			a, err := Analyze(bytes.NewReader(recordingOf(t, name)), Query{Slowest: 100})
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, a)
			if a.Marked != a.Roots || a.Start.IsZero() {
				t.Errorf("%d of %d local roots have an id, and the start is %v", a.Marked, a.Roots, a.Start)
			}
			for span, want := range map[string]struct {
				state    string
				blockers []string
				did      string
			}{
				"mutex":           {"mutex", []string{"refresh cache"}, "sleep in load from disk"},
				"late unlock":     {"mutex", []string{"refresh cache"}, "sleep in load from disk"},
				"rwmutex, write":  {"rwmutex", []string{"refresh cache"}, "sleep in load from disk"},
				"three holders":   {"mutex", []string{"third", "second", "first"}, "sleep in "},
				"channel, send":   {"channel", []string{"refresh cache"}, "sleep in load from disk"},
				"connection pool": {"select", []string{"refresh cache"}, "sleep in load from disk"},
				"waitgroup":       {"waitgroup", []string{"refresh cache"}, "sleep in load from disk"},
				"network":         {"network", nil, ""},
				"sleep":           {"sleep", nil, ""},
			} {
				i := slices.IndexFunc(a.Spans, func(s Span) bool { return s.Name == span })
				if i < 0 || len(a.Spans[i].Waits) == 0 {
					t.Fatalf("no span %q with waits", span)
				}
				w := a.Spans[i].Waits[0]
				var blockers []string
				for _, b := range w.Blockers {
					if b.Duration > w.Duration/50 {
						blockers = append(blockers, b.Span)
					}
				}
				if w.State != want.state || !slices.Equal(blockers, want.blockers) || len(w.Stack) == 0 {
					t.Errorf("span %q: state %q, blockers %q, want %q, %q", span, w.State, blockers, want.state, want.blockers)
				}
				if len(blockers) > 0 {
					if did := w.Blockers[0].Did[0]; did.State+" in "+did.Child != want.did || len(w.Ended) == 0 {
						t.Errorf("span %q: its blocker did %+v, want %s", span, did, want.did)
					}
				}
			}
		})
	}
}

// checkSums fails if the states and holes of a span do not add up to its duration.
func checkSums(t testing.TB, a *Analysis) {
	t.Helper()
	for _, s := range a.Spans {
		var sum time.Duration
		for _, state := range s.Goroutines[0].States {
			sum += state.Duration
		}
		for _, h := range s.Holes {
			sum += h.Duration
		}
		if sum != s.Duration {
			t.Errorf("span %q: states and holes add up to %v, the span to %v", s.Name, sum, s.Duration)
		}
	}
}

func TestQuery(t *testing.T) {
	data := recordingOf(t, "go1.26")
	analyze := func(q Query) []Span {
		t.Helper()
		a, err := Analyze(bytes.NewReader(data), q)
		if err != nil {
			t.Fatal(err)
		}
		return a.Spans
	}
	if n := len(analyze(Query{})); n != 20 {
		t.Errorf("got %d spans by default, want 20", n)
	}
	slowest := analyze(Query{Slowest: 2})
	if len(slowest) != 2 || slowest[0].Duration < slowest[1].Duration {
		t.Fatalf("got %d spans, want the 2 slowest", len(slowest))
	}
	if byID := analyze(Query{IDs: []string{slowest[1].ID}, Slowest: 1}); len(byID) != 1 || byID[0].Name != slowest[1].Name {
		t.Errorf("by the id of %q: %d spans", slowest[1].Name, len(byID))
	}
	if byName := analyze(Query{Name: "mutex"}); len(byName) != 1 || byName[0].Name != "mutex" {
		t.Errorf("by name: %d spans", len(byName))
	}
	if none := analyze(Query{Name: "no such name"}); len(none) != 0 {
		t.Errorf("by an unknown name: %d spans", len(none))
	}
}

func TestErrors(t *testing.T) {
	whole := recordingOf(t, "go1.26")
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		r    io.Reader
		want error
	}{
		{"nothing", strings.NewReader(""), timeline.ErrFormat},
		{"a profile", strings.NewReader("\x1f\x8b and more of it, and more"), timeline.ErrFormat},
		{"a trace of Go 1.21, which is read as a whole", strings.NewReader("go 1.21 trace\x00\x00\x00"), timeline.ErrFormat},
		{"a trace of the future", strings.NewReader("go 1.99 trace\x00\x00\x00"), timeline.ErrFormat},
		{"cut off", bytes.NewReader(whole[:len(whole)-1000]), ErrDamaged},
		{"an error", io.MultiReader(bytes.NewReader(whole[:5000]), iotest.ErrReader(broken)), broken},
		{"an error at once", iotest.ErrReader(broken), broken},
	} {
		if a, err := Analyze(test.r, Query{}); !errors.Is(err, test.want) || a != nil || errors.Is(err, ErrDamaged) == errors.Is(err, broken) {
			t.Errorf("%s: got error %v, want %v", test.name, err, test.want)
		}
	}
	if _, err := analyze(bytes.NewReader(whole), Query{}, 1000, maxKept); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("too long: got error %v", err)
	}
}

// A trace that needs too much memory is read in part.
func TestCut(t *testing.T) {
	a, err := analyze(bytes.NewReader(recordingOf(t, "go1.26")), Query{}, maxInput, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Cut {
		t.Error("the trace was read to its end")
	}
	for _, s := range a.Spans {
		if has := strings.Contains(reasons(&s), "was not read"); has != s.Open {
			t.Errorf("span %q is open: %t, holes: %s", s.Name, s.Open, reasons(&s))
		}
	}
	checkSums(t, a)
}

// With too few pieces a span is marked as cut. Together, spans need as many pieces as alone.
func TestPieces(t *testing.T) {
	_, tl := readRecording(t)
	var roots []int32
	needs, sum := map[int32]int{}, 0
	for root := range tl.Spans {
		if !tl.Spans[root].IsRoot() {
			continue
		}
		whole, need := analyzeSpan(tl, int32(root), pieceBudget)
		roots, needs[int32(root)], sum = append(roots, int32(root)), need, sum+need
		for budget := 0; ; budget = 2*budget + 1 {
			part, _ := analyzeSpan(tl, int32(root), budget)
			if part.Cut {
				continue
			}
			if !reflect.DeepEqual(part, whole) {
				t.Errorf("span %q, %d pieces: it is incomplete without a mark", whole.Name, budget)
			}
			break
		}
	}
	slices.SortFunc(roots, func(a, b int32) int { return needs[b] - needs[a] })
	for _, s := range analyzeSpans(tl, roots, sum) {
		if s.Cut {
			t.Errorf("span %q is cut: the budget of %d pieces is not used", s.Name, sum)
		}
	}
}

// A span that ended on another goroutine has a hole with that reason.
func TestEndElsewhere(t *testing.T) {
	_, tl := readRecording(t)
	root := int32(slices.IndexFunc(tl.Spans, func(s timeline.Span) bool { return s.IsRoot() && s.Ended }))
	s := &tl.Spans[root]
	for end, want := range map[int32]bool{s.Goroutine: false, timeline.None: false, s.Goroutine + 1: true} {
		s.EndGoroutine = end
		span, _ := analyzeSpan(tl, root, pieceBudget)
		if got := reasons(&span); strings.Contains(got, "the span ended on goroutine ") != want {
			t.Errorf("ended on %d, begun on %d: holes %q", end, s.Goroutine, got)
		}
	}
}

// FuzzAnalyze: no input makes it panic, loop or add up wrongly. Use -fuzzminimizetime 1x: by
// default go test minimizes one trace for a minute.
func FuzzAnalyze(f *testing.F) {
	for _, name := range recordings {
		f.Add(recordingOf(f, name))
	}
	f.Add([]byte("go 1.23 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := analyze(bytes.NewReader(data), Query{}, 1<<20, 1<<20)
		if err != nil {
			if a != nil {
				t.Error("got an analysis and an error")
			}
			return
		}
		checkSums(t, a)
	})
}

func reasons(s *Span) string {
	var list []string
	for _, h := range s.Holes {
		list = append(list, h.Reason)
	}
	return strings.Join(list, "; ")
}
