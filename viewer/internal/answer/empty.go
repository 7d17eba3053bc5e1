// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// emptyList returns why the list has no span.
func (r *Reader) emptyList() string {
	switch check := r.selfCheck(); {
	case r.fixed():
		return "no span is listed here"
	case r.stats.SpansNotKept > 0 && r.stats.SpansNotKept >= r.stats.SpansEnded:
		return termtext.Plural(r.stats.SpansEnded, "span") + " ended, and WithSampling keeps none"
	case r.stats.Spans > 0:
		return fmt.Sprintf("no span meets the conditions; %s held", termtext.Plural(r.stats.Spans, "span"))
	case r.stats.SpansEnded > 0:
		return termtext.Plural(r.stats.SpansEnded, "span") + " ended, and newer profiles took their room"
	case check.Started > 0 && check.Sampled == 0:
		return termtext.Plural(int64(check.Started), "span") + " started, none was sampled"
	case r.stats.SpansRunning > 0:
		return r.untilThen(termtext.Plural(r.stats.SpansRunning, "span") + " runs, none has ended yet")
	}
	return r.untilThen("no span has ended yet")
}

// explains has the finding that explains a kind without samples.
var explains = map[exporter.Kind]string{exporter.KindMutex: mutexFraction, exporter.KindBlock: blockRate}

// emptyReason returns why a query selected no sample, and what to do instead.
func (r *Reader) emptyReason(q Query, a *Profile) string {
	kind := q.Type.Kind
	_, single := q.SpanID()
	f := r.finding(explains[kind])
	if kind == exporter.KindWall && a.Windows == 0 {
		f = r.finding(wallBudget)
	}
	switch {
	case !q.Type.Labelled() && q.filtersWork():
		return fmt.Sprintf("%s profiles carry no labels (golang/go#23458), so label filters match nothing: remove the {...} filter for the whole process", kind)
	case f != nil:
		return f.sentence()
	case kind == exporter.KindHost && a.Windows == 0:
		return "no host profile covers this time: an eBPF agent on the machine measures it, where the program takes what the agent sends, as package ebpfbridge/receiver does"
	case kind != exporter.KindCPU && a.Windows == 0:
		return fmt.Sprintf("no %s profile covers this time: %s is measured where the profiler's kinds name it", kind, q.Type.Words)
	case single && a.Span == nil:
		return r.emptyUnknown(q)
	case single:
		return r.emptySpan(q, a)
	case a.Windows == 0 && !q.Until.IsZero():
		return fmt.Sprintf("no %s profile covers this time", kind)
	case a.Windows == 0:
		return r.untilThen(fmt.Sprintf("no %s profile covers this time", kind))
	case r.unprefixedAttribute(q) != "":
		return fmt.Sprintf("no sample meets the conditions: %s is an attribute of spans: write span.%[1]s", r.unprefixedAttribute(q))
	case q.OnAttributes():
		return r.emptyAttributes(q)
	}
	return fmt.Sprintf("no sample in %s meets the conditions of the query", termtext.Plural(a.Windows, "window"))
}

// emptyUnknown is the reason for an id without a span.
func (r *Reader) emptyUnknown(q Query) string {
	id, _ := q.SpanID()
	id = strconv.Quote(termtext.Clip(id, termtext.MaxQuoted))
	if r.fixed() {
		return "nothing here has the id " + id
	}
	reason := fmt.Sprintf("nothing with the id %s is in the store: it was never seen here, or it made room for newer spans (%d did so far)", id, r.stats.SpansEvicted)
	if r.running() {
		reason += ", or its span is still running and its samples are not in yet"
	}
	return r.untilThen(reason)
}

// emptySpan is the reason for a span that is known.
func (r *Reader) emptySpan(q Query, a *Profile) string {
	s, kind := a.Span, q.Type.Kind
	switch {
	case s.SamplesHeld > 0 && kind == exporter.KindCPU && s.CPUSamples > 0:
		return fmt.Sprintf("this span has %s, but none that also meets the other conditions of the query or lies in its time", termtext.Plural(s.CPUSamples, "sample"))
	case s.Running:
		return r.untilThen("this span is still running, and its samples so far are not in yet")
	case !s.Complete:
		return r.untilThen("the samples of this span are not in yet")
	case kind == exporter.KindWall:
		return r.emptyWall(s)
	case kind == exporter.KindHost && a.Attribution != nil:
		return "no sample of the host profiles is this span's for certain"
	case kind != exporter.KindCPU:
		return fmt.Sprintf("no sample of the %s profiles has the id of this span", kind)
	case s.Coverage == store.CoverageEvicted.String() || s.CPUSamples > 0:
		return fmt.Sprintf("CPU profiles of this span's time made room for newer ones (%s did so far), and samples of this span with them, if there were any: a store with more bytes keeps them longer", termtext.Plural(r.stats.WindowsEvicted, "profile"))
	case s.Coverage == store.CoverageNone.String():
		return "CPU was not profiled during this span: " + r.whyNotProfiled(s)
	case s.Coverage == store.CoveragePartial.String():
		return "no sample hit this span, but CPU was not profiled during part of it: " + r.whyNotProfiled(s)
	}
	if f := r.finding(unlabelled...); f != nil && (r.stats.CPUTimeLabelled == 0 || f.ID == tracersBeforeWrap) {
		return "no sample is known to be of this span. " + f.sentence()
	}
	return fmt.Sprintf("no sample hit this span: it took %s, and two samples are 10 ms of CPU time apart by default", termtext.Value(s.DurationNs, termtext.Nanoseconds))
}

// whyNotProfiled returns why there is no CPU profile of a span's time.
func (r *Reader) whyNotProfiled(s *Span) string {
	first := slices.IndexFunc(r.allWindows(), func(w store.WindowInfo) bool { return w.Kind == exporter.KindCPU && w.Service == s.Service })
	if first >= 0 && r.stats.WindowsEvicted == 0 {
		if before := r.allWindows()[first].Start.Sub(s.Start); before > 0 {
			return fmt.Sprintf("it began %s before the first CPU profile", termtext.Value(before.Nanoseconds(), termtext.Nanoseconds))
		}
	}
	return cmp.Or(r.selfCheck().Gaps, "no CPU profile of that time has come")
}

// emptyWall is the reason for a span without a wall sample.
func (r *Reader) emptyWall(s *Span) string {
	reason := "no wall sample hit this span: it took " + termtext.Value(s.DurationNs, termtext.Nanoseconds)
	if every := r.wallInterval(); every > 0 {
		reason += fmt.Sprintf(", in which %s samples can be expected", termtext.Expected(float64(s.DurationNs)/float64(every)))
	}
	return reason
}

// wallInterval returns the mean time between two wall samples in nanoseconds, 0 if unknown.
func (r *Reader) wallInterval() int64 {
	if r.status == nil {
		return 0
	}
	return r.status.WallIntervalNs
}

// holds returns true if a baseline selects a sample.
func (r *Reader) holds(b *Baseline) bool { return r.selectsAny(r.resolve(b.asked())) }

// untilThen adds to a reason when the next samples arrive.
func (r *Reader) untilThen(reason string) string {
	s := r.status
	switch {
	case r.fixed():
		return reason
	case s != nil && s.Message != "":
		return reason + "; " + strings.TrimSuffix(s.Message, ".")
	case s != nil && !s.WindowEnd.IsZero():
		return reason + "; samples come when the window ends at " + s.WindowEnd.UTC().Format("15:04:05 MST")
	}
	return reason + "; samples come when the next profile ends"
}
