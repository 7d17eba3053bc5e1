// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

const (
	// wallOff is by how much the wall clock of a trace may be off: the runtime reads it
	// some time before the trace's own, if the operating system takes the thread away.
	wallOff = time.Second
	// atOnce is how many spans Analyze returns at most.
	atOnce = 1000
	// toldOf is how many mistakes of a kind are described.
	toldOf = 5
)

// source is one kind of recording, and what was found in those.
type source struct {
	name, keep string
	// edge is what is left out at both ends of a recording. A thread that the operating
	// system takes away in the middle of an event writes it into the part of the trace
	// that was current before, so the ends are not the same moment for all threads.
	edge                        time.Duration
	recordings                  int
	expected, found             int
	parseErrors, missing, wrong int
	off                         time.Duration // the most by which an event is later in a trace than it was, or a span longer or shorter
	mistakes                    []string
	counts                      string // of exectrace.Start
}

func (s *source) result() *source { return s }

func (s *source) mistake(count *int, format string, args ...any) {
	if *count++; *count <= toldOf {
		s.mistakes = append(s.mistakes, s.name+": "+fmt.Sprintf(format, args...))
	}
}

// checkAll compares a recording with the ledger.
func (s *source) checkAll(data []byte, l *ledger) {
	s.recordings++
	whole, err := exectrace.Analyze(bytes.NewReader(data), exectrace.WithSlowest(0))
	if err != nil {
		s.mistake(&s.parseErrors, "a recording of %d bytes: %v%s", len(data), err, s.kept(data))
		return
	}
	start := whole.Start.Sub(l.begin.Round(0))
	candidates := l.around(start-wallOff, start+whole.Duration+wallOff)
	spans := map[string]*exectrace.Span{}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(candidates)), atOnce) {
		a, err := exectrace.Analyze(bytes.NewReader(data), exectrace.WithSpanIDs(ids...))
		if err != nil {
			s.mistake(&s.parseErrors, "a recording of %d bytes, for the second time: %v", len(data), err)
			return
		}
		for i := range a.Spans {
			spans[a.Spans[i].ID] = &a.Spans[i]
		}
	}
	if before := s.missing + s.wrong; s.keep != "" {
		defer func() {
			if s.missing+s.wrong > before {
				s.mistakes = append(s.mistakes, s.name+": that was"+s.kept(data))
			}
		}()
	}
	zero := s.zero(spans, candidates)
	for id, want := range candidates {
		if want.began[0] < zero+s.edge || want.ended[1] > zero+whole.Duration-s.edge {
			continue
		}
		s.expected++
		got := spans[id]
		if got == nil {
			s.mistake(&s.missing, "span %s %q is missing: it was open from %v to %v of a trace of %v",
				id, want.name, want.began[0]-zero, want.ended[1]-zero, whole.Duration)
			continue
		}
		s.found++
		s.compare(got, want)
	}
}

// kept writes a recording to a file and says where.
func (s *source) kept(data []byte) string {
	if s.keep == "" {
		return ""
	}
	file := filepath.Join(s.keep, fmt.Sprintf("%s-%d.trace", strings.ReplaceAll(s.name, " ", "-"), s.recordings))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "; it was not kept: " + err.Error()
	}
	return "; it is in " + file
}

// zero returns when the recording began by the program's clock. Each span has a bound in its
// start: no event is earlier in a trace than it was. It may be later, as the reader puts it
// after the events that it depends on, whose threads may have been taken away while they
// wrote them.
func (s *source) zero(spans map[string]*exectrace.Span, candidates map[string]written) time.Duration {
	least, most := time.Duration(-1<<62), time.Duration(1<<62)
	for id, got := range spans {
		want := candidates[id]
		least, most = max(least, want.began[0]-got.Start), min(most, want.began[1]-got.Start)
		if !got.Open {
			end := got.Start + got.Duration
			least, most = max(least, want.ended[0]-end), min(most, want.ended[1]-end)
		}
	}
	s.off = max(s.off, least-most)
	return least
}

// compare holds a span of the trace to what the program wrote down.
func (s *source) compare(got *exectrace.Span, want written) {
	sum := time.Duration(0)
	for _, state := range got.Goroutines[0].States {
		sum += state.Duration
	}
	for _, h := range got.Holes {
		sum += h.Duration
	}
	switch {
	case got.Name != want.name:
		s.mistake(&s.wrong, "span %s is named %q, want %q", want.id, got.Name, want.name)
	case got.Open:
		s.mistake(&s.wrong, "span %s %q has no end", want.id, want.name)
	case sum != got.Duration:
		s.mistake(&s.wrong, "span %s %q: states and holes add up to %v, the span to %v", want.id, want.name, sum, got.Duration)
	case len(got.Holes) > 0 && want.name != handedOn:
		s.mistake(&s.wrong, "span %s %q: holes %+v", want.id, want.name, got.Holes)
	}
}
