// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// emptyReason says why a query selected no sample. It never ends at that: what
// to do or to look at instead follows in the same sentence or is the answer's
// baseline.
func (h *handler) emptyReason(q query, a *answer) string {
	id, single := q.spanID()
	switch {
	case q.typ.kind == exporter.KindHeap && len(q.matchers) > 0:
		return "heap profiles carry no labels (golang/go#23458), so no condition selects any of them: leave the braces empty for the heap of the whole process"
	case q.typ.kind == exporter.KindWall && a.Windows == 0:
		return "no wall profile covers this time: wall time is measured where the profiler's kinds name it"
	case q.typ.kind == exporter.KindWall:
		return fmt.Sprintf("none of the samples in %d windows meets the conditions of the query: what takes less time than passes between two samples often has none, and the newest come when the current profile ends", a.Windows)
	case single && a.Span == nil:
		reason := fmt.Sprintf("nothing with the id %q is in the store: it was never seen here, or it made room for newer spans (%d did so far)", clip(id), h.store.Stats().SpansEvicted)
		if h.running() {
			return reason + ", or its span is still running and its samples are not in yet: " + h.openWindow()
		}
		return reason + "; " + h.openWindow()
	case single && a.Span.SamplesHeld > 0:
		return fmt.Sprintf("this span has %s, but none that also meets the other conditions of the query or lies in its time", plural(a.Span.SamplesHeld, "sample"))
	case single && !a.Span.Complete:
		return "the samples of this span are not in yet: " + h.openWindow()
	case single && a.Span.Coverage == store.CoverageEvicted.String():
		return fmt.Sprintf("CPU profiles of this span's time made room for newer ones (%s did so far), and samples of this span with them, if there were any: a store with more bytes keeps them longer", plural(h.store.Stats().WindowsEvicted, "profile"))
	case single && a.Span.Coverage == store.CoverageNone.String():
		return "CPU was not profiled during this span, as happens before the profiler starts and while another CPU profile runs in the process"
	case single && a.Span.Coverage == store.CoveragePartial.String():
		return "no sample hit this span, but CPU was not profiled during part of it, as happens before the profiler starts and while another CPU profile runs in the process"
	case single:
		return fmt.Sprintf("no sample hit this span: it took %s of wall time, and a sample is taken about every %s of CPU time", formatValue(a.Span.DurationNs, unitNanoseconds), h.samplePeriod(a))
	case a.Windows == 0:
		return fmt.Sprintf("no %s profile covers this time: %s", q.typ.kind, h.openWindow())
	}
	return fmt.Sprintf("none of the samples in %s meets the conditions of the query", plural(a.Windows, "window"))
}

// openWindow says when samples are to be expected.
func (h *handler) openWindow() string {
	if h.status == nil {
		return "they come when the current profile ends"
	}
	s := h.status()
	switch message := h.statusMessage(s); {
	case message != "":
		return strings.TrimSuffix(message, ".")
	case s.WindowEnd.IsZero():
		return "they come when the next profile ends"
	}
	return "the window is open until " + s.WindowEnd.UTC().Format("15:04:05 MST")
}

// samplePeriod returns the CPU time between two samples, as the baseline of an
// empty answer shows it.
func (h *handler) samplePeriod(a *answer) string {
	period := 10 * time.Millisecond // The Go runtime's default, 100 Hz.
	if a.Baseline != nil {
		base := query{flameQL: a.Baseline.query}
		if sel, err := h.store.Select(base.store()); err == nil && sel.Samples > 0 && sel.Unit == unitNanoseconds {
			period = time.Duration(sel.Total / sel.Samples)
		}
	}
	return formatValue(period.Nanoseconds(), unitNanoseconds)
}

func quotedList(names map[string]bool) string {
	quoted := []string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		quoted = append(quoted, strconv.Quote(name))
	}
	return strings.Join(quoted, ", ")
}
