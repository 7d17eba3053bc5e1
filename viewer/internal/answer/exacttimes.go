// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// mostExactWaits is how many waits a span's text has, mostExactParts how many parts a
	// line of it.
	mostExactWaits = 5
	mostExactParts = 4
	// clockError is how far the times of a span and of its trace may be apart: the SDK
	// takes them one after the other, and the goroutine may lose its thread in between.
	clockError = time.Millisecond
)

// exactTimes is what the text and the pprof of a span need of exectrace.SpanTimes.
type exactTimes struct {
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	Goroutines []struct {
		ID     int64        `json:"id"`
		States []exactState `json:"states"`
	} `json:"goroutines"`
	Holes []struct {
		Reason     string `json:"reason"`
		DurationNs int64  `json:"durationNs"`
	} `json:"holes"`
	Waits []struct {
		exactState
		Count     int          `json:"count"`
		Goroutine int64        `json:"goroutine"`
		Child     string       `json:"child"`
		Stack     []exactFrame `json:"stack"`
		Ended     []exactFrame `json:"ended"`
		Blockers  []struct {
			Span   string       `json:"span"`
			SpanID string       `json:"spanId"`
			Same   bool         `json:"same"`
			Did    []exactState `json:"did"`
		} `json:"blockers"`
	} `json:"waits"`
	WaitsOmitted int `json:"waitsOmitted"`
}

type exactState struct {
	State      string `json:"state"`
	DurationNs int64  `json:"durationNs"`
	// Child is the name of the span, below the local root, in which it was.
	Child string `json:"child,omitempty"`
}

type exactFrame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// withExactTimes returns a span with its exact times.
func (r *Reader) withExactTimes(s Span) Span {
	if s.HasExactTimes {
		s.ExactTimes = r.exactJSON(s.ProfileID)
	}
	return s
}

// exactJSON returns the exact times of a span, nil if there are none.
func (r *Reader) exactJSON(id string) json.RawMessage {
	s, _ := r.spanOf(store.SpanQuery{ID: id, Exact: true, Brief: true})
	return s.ExactTimes
}

// exactTimesOf returns the parsed exact times of a span, nil if there are none.
func (r *Reader) exactTimesOf(s *store.Span) *exactTimes {
	var x exactTimes
	if data := r.exactJSON(s.ProfileID); len(data) == 0 || json.Unmarshal(data, &x) != nil {
		return nil
	}
	return &x
}

// exactly describes where the time of the span went, by an execution trace.
func (s *Span) exactly() (lines []string) {
	var x exactTimes
	if len(s.ExactTimes) == 0 || json.Unmarshal(s.ExactTimes, &x) != nil {
		return nil
	}
	if len(x.Goroutines) > 0 {
		lines = append(lines, exactStates(x.Goroutines[0].States))
	}
	if apart := x.Start.Sub(s.Start).Abs(); apart > clockError || time.Duration(x.DurationNs-s.DurationNs).Abs() > clockError {
		lines = append(lines, fmt.Sprintf("by the trace it took %s from %s on: the program gave it other times", nanoseconds(x.DurationNs), x.Start.UTC().Format(time.RFC3339Nano)))
	}
	for i := range x.Holes {
		if h := &x.Holes[i]; i < mostExactParts {
			lines = append(lines, strings.TrimPrefix(fmt.Sprintf("%s: %s", nanoseconds(h.DurationNs), h.Reason), "0 ns: "))
		}
	}
	for i := range x.Waits {
		if i == mostExactWaits {
			break
		}
		w := &x.Waits[i]
		line := nanoseconds(w.DurationNs) + " " + w.State + inChild(w.Child) + " at " + exactPlace(w.Stack)
		if len(w.Blockers) > 0 {
			b := &w.Blockers[0]
			by := fmt.Sprintf("span %q %s", b.Span, b.SpanID)
			switch {
			case b.Same:
				by = "this span"
			case b.Span == "":
				by = "no span"
			}
			line += fmt.Sprintf(", ended by %s: %s", strings.TrimSpace(by), exactStates(b.Did))
		}
		lines = append(lines, line)
	}
	return lines
}

func exactStates(list []exactState) string {
	var parts []string
	for _, s := range list[:min(len(list), mostExactParts)] {
		parts = append(parts, s.State+" "+nanoseconds(s.DurationNs)+inChild(s.Child))
	}
	return strings.Join(parts, ", ")
}

func inChild(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}

// exactPlace names the innermost function of a stack that people know: not of the runtime,
// or of package sync.
func exactPlace(stack []exactFrame) string {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/") && f.Func != "time.Sleep" {
			return fmt.Sprintf("%s (%s:%d)", f.Func, path.Base(f.File), f.Line)
		}
	}
	return "an unknown place"
}

func nanoseconds(n int64) string { return termtext.Value(n, termtext.Nanoseconds) }
