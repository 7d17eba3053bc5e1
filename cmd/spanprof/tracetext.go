// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/termtext"
)

// The longest lists of a span's text. The JSON has all.
const (
	traceWaits  = 12
	traceOthers = 8
	traceStates = 3
)

// leastAllocated is the number of bytes below which the estimate for one span is too rough.
const leastAllocated = 100_000

// writeTrace writes an analysis for a terminal.
func writeTrace(w io.Writer, a *exectrace.Analysis) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of a trace: %s, %d of them below\n", traceTime(a.Duration), termtext.Plural(a.Roots, "local root"), len(a.Spans))
	if a.BeganBefore > 0 {
		fmt.Fprintf(&b, "%s began before the trace and cannot be shown.\n", termtext.Plural(a.BeganBefore, "span"))
	}
	if a.Cut {
		b.WriteString("The rest of the trace was not read: it has too many events.\n")
	}
	switch {
	case a.Roots == 0:
		b.WriteString("There are no spans. OpenTelemetry's SDK writes spans into a trace that are recorded while it is on.\n")
	case a.Marked == 0:
		b.WriteString("The spans have no ids: github.com/spanprof/spanprof writes them into a trace.\n")
	}
	for i := range a.Spans {
		s := &a.Spans[i]
		fmt.Fprintf(&b, "\nSPAN %s: %s, from %s of the trace on\n", strings.TrimSpace(plainTrace(s.Name)+" "+s.ID), traceTime(s.Duration), traceTime(s.Start))
		for _, g := range s.Goroutines[:min(len(s.Goroutines), traceOthers)] {
			fmt.Fprintf(&b, "  goroutine %d%s, %s to %s: %s\n", g.ID, inChild(g.Child), traceTime(g.Start), traceTime(g.End), traceParts(g.States, len(g.States)))
		}
		if s.AllocatedBytes >= leastAllocated {
			fmt.Fprintf(&b, "  about %s allocated\n", termtext.Value(s.AllocatedBytes, termtext.Bytes))
		}
		for _, h := range s.Holes[:min(len(s.Holes), traceOthers)] {
			fmt.Fprintf(&b, "  hole, %s from %s on: %s\n", traceTime(h.Duration), traceTime(h.Start), plainTrace(h.Reason))
		}
		for _, wait := range s.Waits[:min(len(s.Waits), traceWaits)] {
			writeTraceWait(&b, &wait)
		}
		if more := len(s.Waits) - traceWaits + s.WaitsOmitted; more > 0 {
			fmt.Fprintf(&b, "  and %s more\n", termtext.Plural(more, "wait"))
		}
	}
	writeAllocated(&b, a.Spans)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAllocated sums by name what spans allocated that are too small for a line each.
func writeAllocated(b *strings.Builder, spans []exectrace.Span) {
	bytes, counts := map[string]int64{}, map[string]int{}
	for i := range spans {
		if s := &spans[i]; s.AllocatedBytes < leastAllocated {
			bytes[s.Name] += s.AllocatedBytes
			counts[s.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bytes)) {
		if bytes[name] >= leastAllocated {
			fmt.Fprintf(b, "\nabout %s allocated by %s %s\n", termtext.Value(bytes[name], termtext.Bytes), termtext.Plural(counts[name], "span"), plainTrace(name))
		}
	}
}

func writeTraceWait(b *strings.Builder, w *exectrace.Wait) {
	fmt.Fprintf(b, "  %9s  %s, %s%s at %s\n", traceTime(w.Duration), w.State, termtext.Plural(w.Count, "time"), inChild(w.Child), tracePlace(w.Stack))
	for i := range w.Blockers[:min(len(w.Blockers), traceOthers)] {
		by, span := &w.Blockers[i], "this span"
		switch {
		case i > 0 && by.Duration < w.Duration/100:
			continue
		case by.Same:
		case by.Span == "":
			span = "no span"
		default:
			span = strings.TrimSpace(fmt.Sprintf("span %q %s", plainTrace(by.Span), by.SpanID))
		}
		role := "which waited for"
		if i == 0 {
			role = "ended at " + tracePlace(w.Ended) + " by"
		}
		fmt.Fprintf(b, "%13s%s goroutine %d of %s: %s\n", "", role, by.Goroutine, span, traceParts(by.Did, traceStates))
	}
}

// tracePlace returns the innermost function outside of the runtime and package sync.
func tracePlace(stack []exectrace.Frame) string {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/") &&
			!strings.HasPrefix(f.Func, "syscall.") && !strings.HasPrefix(f.Func, "time.Sleep") {
			return fmt.Sprintf("%s (%s:%d)", plainTrace(f.Func), plainTrace(path.Base(f.File)), f.Line)
		}
	}
	return "an unknown place"
}

func inChild(child string) string {
	if child == "" {
		return ""
	}
	return " in " + plainTrace(child)
}

func traceParts(list []exectrace.Part, most int) string {
	texts := []string{}
	for _, p := range list[:min(len(list), most)] {
		if p.Duration < list[0].Duration/100 {
			break
		}
		texts = append(texts, p.State+" "+traceTime(p.Duration)+inChild(p.Child))
	}
	return strings.Join(texts, ", ")
}

func plainTrace(s string) string { return termtext.Clip(termtext.OneLine(s), termtext.MaxQuoted) }

// traceTime has one unit for all durations, so that they can be compared.
func traceTime(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
