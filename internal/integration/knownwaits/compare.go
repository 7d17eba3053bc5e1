// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// result is a known wait, by the program's clock and by its trace.
type result struct {
	known
	clock, waited, ready time.Duration
	again                int      // how often it happened before
	blockers             []string // the spans that were waited for
	sum                  float64  // of the states and holes, as a share of the span
	holes                []exectrace.Hole
	span                 exectrace.Span
}

// off is by how much the trace differs from the clock.
func (r *result) off() time.Duration { return r.clock - r.waited - r.ready }

func (r *result) right() bool { return r.wrong() == "" }

func (r *result) wrong() string {
	switch {
	case r.off().Abs() > max(r.clock/100, 200*time.Microsecond):
		return "  WRONG: time"
	case !slices.Equal(r.blockers, r.known.blockers):
		return fmt.Sprintf("  WRONG: blockers, want %v", r.known.blockers)
	}
	return ""
}

// compare finds the known waits in a trace.
func compare(trace []byte, waits map[string]measured) ([]result, error) {
	a, err := exectrace.Analyze(bytes.NewReader(trace), exectrace.WithSlowest(1000))
	if err != nil {
		return nil, err
	}
	var results []result
	for _, k := range kinds {
		m := waits[k.name]
		i := slices.IndexFunc(a.Spans, func(s exectrace.Span) bool { return s.ID == m.span.SpanID().String() })
		if i < 0 {
			return nil, fmt.Errorf("no span %q in the trace", k.name)
		}
		s := a.Spans[i]
		r := result{known: k, clock: m.clock, again: m.again, holes: s.Holes, span: s}
		var sum time.Duration
		for _, state := range s.Goroutines[0].States {
			sum += state.Duration
			switch state.State {
			case k.state:
				r.waited += state.Duration
			case "runnable", "gc stop":
				r.ready += state.Duration
			}
		}
		for _, h := range s.Holes {
			sum += h.Duration
		}
		r.sum = float64(sum) / float64(s.Duration)
		r.blockers = blockers(&s, k.state)
		results = append(results, r)
	}
	return results, nil
}

// blockers returns the spans that the longest wait was for, the one that ended it first.
func blockers(s *exectrace.Span, state string) []string {
	for _, w := range s.Waits {
		if w.State != state {
			continue
		}
		var names []string
		for _, b := range w.Blockers {
			if b.Span != "" && b.Duration > w.Duration/50 {
				names = append(names, b.Span)
			}
		}
		return names
	}
	return nil
}
