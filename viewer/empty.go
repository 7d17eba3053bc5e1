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
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// emptyReason says why a query selected no sample. It never ends at that: what
// to do or to look at instead follows in the same sentence or is the answer's
// baseline.
func (h *handler) emptyReason(q query, a *answer) string {
	_, single := q.spanID()
	switch {
	case !q.typ.labelled() && q.asksForWork():
		return fmt.Sprintf("%s profiles carry no labels (golang/go#23458), so no condition on work selects any of them: leave the braces empty for the whole process", q.typ.kind)
	case q.typ.kind != exporter.KindCPU && a.Windows == 0:
		return fmt.Sprintf("no %s profile covers this time: %s is measured where the profiler's kinds name it", q.typ.kind, q.typ.words)
	case single && a.Span == nil:
		return h.emptyUnknown(q)
	case single:
		return h.emptySpan(q, a)
	case a.Windows == 0:
		if first, ok := h.begins(q); ok {
			return fmt.Sprintf("no %s profile covers this time: the first that is held begins at %s", q.typ.kind, first.UTC().Format(time.DateTime+" MST"))
		}
		return fmt.Sprintf("no %s profile covers this time: %s", q.typ.kind, h.openWindow())
	}
	reason := fmt.Sprintf("none of the samples in %s meets the conditions of the query", plural(a.Windows, "window"))
	for _, m := range q.matchers {
		if meant, ok := meantLabel(m.Label()); ok {
			return fmt.Sprintf("%s: the label %q is spelt %s", reason, m.Label(), meant)
		}
	}
	return reason
}

// begins returns when the first profile begins, if that is after the query's time.
func (h *handler) begins(q query) (time.Time, bool) {
	if q.until.IsZero() {
		return time.Time{}, false
	}
	windows := h.store.Windows(store.WindowQuery{Kind: q.typ.kind})
	if len(windows) == 0 || !windows[0].Start.After(q.until) {
		return time.Time{}, false
	}
	return windows[0].Start, true
}

// meantLabel returns the label of spans that somebody has written in the manner of
// another language, such as spanName or service.name.
func meantLabel(written string) (string, bool) {
	letters := func(s string) string {
		return strings.ToLower(strings.Map(func(r rune) rune {
			if strings.ContainsRune("_-. ", r) {
				return -1
			}
			return r
		}, s))
	}
	for _, label := range []string{labelkey.SpanName, labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, "service_name", "service_version"} {
		if written != label && letters(written) == letters(label) {
			return label, true
		}
	}
	return "", false
}

// emptyUnknown is about an id that the store does not know.
func (h *handler) emptyUnknown(q query) string {
	id, _ := q.spanID()
	reason := fmt.Sprintf("nothing with the id %q is in the store: it was never seen here, or it made room for newer spans (%d did so far)", clip(id, maxQuoted), h.store.Stats().SpansEvicted)
	if h.running() {
		return reason + ", or its span is still running and its samples are not in yet: " + h.openWindow()
	}
	return reason + "; " + h.openWindow()
}

// emptySpan is about a span that the store knows.
func (h *handler) emptySpan(q query, a *answer) string {
	s := a.Span
	switch {
	case s.SamplesHeld > 0 && q.typ.kind == exporter.KindCPU && s.CPUSamples > 0:
		return fmt.Sprintf("this span has %s, but none that also meets the other conditions of the query or lies in its time", plural(s.CPUSamples, "sample"))
	case s.Running:
		return "this span is still running, and its samples so far are not in yet: " + h.openWindow()
	case !s.Complete:
		return "the samples of this span are not in yet: " + h.openWindow()
	case q.typ.kind == exporter.KindWall:
		return h.emptyWall(s)
	case q.typ.kind != exporter.KindCPU:
		return fmt.Sprintf("no sample of the %s profiles has the id of this span", q.typ.kind)
	case s.Coverage == store.CoverageEvicted.String() || s.CPUSamples > 0:
		return fmt.Sprintf("CPU profiles of this span's time made room for newer ones (%s did so far), and samples of this span with them, if there were any: a store with more bytes keeps them longer", plural(h.store.Stats().WindowsEvicted, "profile"))
	case s.Coverage == store.CoverageNone.String():
		return "CPU was not profiled during this span, as happens before the profiler starts and while another CPU profile runs in the process"
	case s.Coverage == store.CoveragePartial.String():
		return "no sample hit this span, but CPU was not profiled during part of it, as happens before the profiler starts and while another CPU profile runs in the process"
	}
	return fmt.Sprintf("no sample hit this span: it took %s of wall time, and a sample is taken about every %s of CPU time", formatValue(s.DurationNs, unitNanoseconds), h.samplePeriod(a))
}

// emptyWall is about a span that no wall sample hit.
func (h *handler) emptyWall(s *spanJSON) string {
	reason := "no wall sample hit this span: it took " + formatValue(s.DurationNs, unitNanoseconds)
	interval := h.wallInterval()
	if interval <= 0 {
		return reason + ", and what takes less time than passes between two samples often has none"
	}
	return fmt.Sprintf("%s, and its goroutines are looked at about every %s: %s samples can be expected", reason, formatValue(interval.Nanoseconds(), unitNanoseconds), formatExpected(float64(s.DurationNs)/float64(interval)))
}

// wallInterval returns the mean time between two wall samples, 0 where that is
// not known.
func (h *handler) wallInterval() time.Duration {
	if h.status == nil {
		return 0
	}
	return h.status().WallInterval
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
		base := h.resolve(query{flameQL: a.Baseline.query})
		if sel, err := h.store.Select(base.store()); err == nil && sel.Samples > 0 && sel.Unit == unitNanoseconds {
			period = time.Duration(sel.Total / sel.Samples)
		}
	}
	return formatValue(period.Nanoseconds(), unitNanoseconds)
}

// holds says whether a query selects any sample, of any time.
func (h *handler) holds(q flameQL) bool {
	return slices.ContainsFunc(h.store.Kinds(h.resolve(query{flameQL: q}).store()), func(t store.KindTotal) bool {
		return t.Kind == q.typ.kind && t.Samples > 0
	})
}

func quotedList(names map[string]bool) string {
	quoted := []string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		quoted = append(quoted, strconv.Quote(name))
	}
	return strings.Join(quoted, ", ")
}
