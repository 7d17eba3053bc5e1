// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// emptyReason returns why a query selected no sample, and what to do instead. The baseline
// may add to it.
func (r *Reader) emptyReason(q Query, a *Profile) string {
	_, single := q.SpanID()
	switch {
	case !q.Type.Labelled() && q.filtersWork():
		return fmt.Sprintf("%s profiles carry no labels (golang/go#23458), so label filters match nothing: remove the {...} filter for the whole process", q.Type.Kind)
	case q.Type.Kind == exporter.KindHost && a.Windows == 0:
		return "no host profile covers this time: an eBPF agent on the machine measures it, where the program takes what the agent sends, as package ebpfbridge/receiver does"
	case q.Type.Kind == exporter.KindMutex && r.finding(mutexFraction) != nil:
		return r.finding(mutexFraction).sentence()
	case q.Type.Kind == exporter.KindBlock && r.finding(blockRate) != nil:
		return r.finding(blockRate).sentence()
	case q.Type.Kind == exporter.KindWall && a.Windows == 0 && r.finding(wallBudget) != nil:
		return r.finding(wallBudget).sentence()
	case q.Type.Kind != exporter.KindCPU && a.Windows == 0:
		return fmt.Sprintf("no %s profile covers this time: %s is measured where the profiler's kinds name it", q.Type.Kind, q.Type.Words)
	case single && a.Span == nil:
		return r.emptyUnknown(q)
	case single:
		return r.emptySpan(q, a)
	case a.Windows == 0:
		if first, ok := r.begins(q); ok {
			return fmt.Sprintf("no %s profile covers this time: the first that is held begins at %s", q.Type.Kind, first.UTC().Format(time.DateTime+" MST"))
		}
		return r.untilThen(fmt.Sprintf("no %s profile covers this time", q.Type.Kind), ": ")
	}
	reason := fmt.Sprintf("no sample in %s meets the conditions of the query", termtext.Plural(a.Windows, "window"))
	if key := r.unprefixedAttribute(q); key != "" {
		return fmt.Sprintf("%s: %s is an attribute of spans: write span.%[2]s", reason, key)
	}
	if q.OnAttributes() {
		return r.emptyAttributes(q)
	}
	for _, m := range q.Matchers {
		if meant := meantLabel(m.Label()); meant != "" {
			return fmt.Sprintf("%s: the label %q is spelt %s", reason, m.Label(), meant)
		}
	}
	return reason
}

// begins returns when the first profile of the query's kind begins, if that is after the
// query's time.
func (r *Reader) begins(q Query) (time.Time, bool) {
	if q.Until.IsZero() {
		return time.Time{}, false
	}
	for _, w := range r.allWindows() {
		if w.Kind == q.Type.Kind {
			return w.Start, w.Start.After(q.Until)
		}
	}
	return time.Time{}, false
}

// meantLabel returns the label that a query spells in another style, such as spanName or
// service.name.
func meantLabel(written string) string {
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
			return label
		}
	}
	return ""
}

// emptyUnknown is the reason for an id that is not known.
func (r *Reader) emptyUnknown(q Query) string {
	id, _ := q.SpanID()
	id = strconv.Quote(termtext.Clip(id, termtext.MaxQuoted))
	if r.fixed() {
		return "nothing here has the id " + id
	}
	if r.status != nil && r.status.Host {
		return r.untilThen(fmt.Sprintf("nothing with the id %s is in the store: no sample of the agent is this span's for certain, or it made room for newer ones (%d spans did so far)", id, r.stats.SpansEvicted), "; ")
	}
	reason := fmt.Sprintf("nothing with the id %s is in the store: it was never seen here, or it made room for newer spans (%d did so far)", id, r.stats.SpansEvicted)
	if r.running() {
		return r.untilThen(reason+", or its span is still running and its samples are not in yet", ": ")
	}
	return r.untilThen(reason, "; ")
}

// emptySpan is the reason for a span that is known.
func (r *Reader) emptySpan(q Query, a *Profile) string {
	s := a.Span
	switch {
	case s.SamplesHeld > 0 && q.Type.Kind == exporter.KindCPU && s.CPUSamples > 0:
		return fmt.Sprintf("this span has %s, but none that also meets the other conditions of the query or lies in its time", termtext.Plural(s.CPUSamples, "sample"))
	case s.Running:
		return r.untilThen("this span is still running, and its samples so far are not in yet", ": ")
	case !s.Complete:
		return r.untilThen("the samples of this span are not in yet", ": ")
	case q.Type.Kind == exporter.KindWall:
		return r.emptyWall(s)
	case q.Type.Kind == exporter.KindHost && a.Attribution != nil:
		return "no sample of the host profiles is this span's for certain"
	case q.Type.Kind != exporter.KindCPU:
		return fmt.Sprintf("no sample of the %s profiles has the id of this span", q.Type.Kind)
	case s.Coverage == store.CoverageEvicted.String() || s.CPUSamples > 0:
		return fmt.Sprintf("CPU profiles of this span's time made room for newer ones (%s did so far), and samples of this span with them, if there were any: a store with more bytes keeps them longer", termtext.Plural(r.stats.WindowsEvicted, "profile"))
	case s.Coverage == store.CoverageNone.String():
		return "CPU was not profiled during this span: " + r.whyNotProfiled(s)
	case s.Coverage == store.CoveragePartial.String():
		return "no sample hit this span, but CPU was not profiled during part of it: " + r.whyNotProfiled(s)
	}
	switch f := r.finding(unlabelled...); {
	case f == nil:
	case r.stats.CPUTimeLabelled == 0:
		return "no sample is known to be of this span. " + f.sentence()
	case f.ID == tracersBeforeWrap:
		return "no sample is known to be of this span, which may be of a tracer without labels. " + f.sentence()
	}
	return fmt.Sprintf("no sample hit this span: it took %s of wall time, and a sample is taken about every %s of CPU time", termtext.Value(s.DurationNs, termtext.Nanoseconds), r.samplePeriod(a))
}

// whyNotProfiled returns why there is no CPU profile of a span's time.
func (r *Reader) whyNotProfiled(s *Span) string {
	for _, w := range r.allWindows() {
		if w.Kind != exporter.KindCPU || w.Service != s.Service {
			continue
		}
		if before := w.Start.Sub(s.Start); before > 0 && r.stats.WindowsEvicted == 0 {
			return fmt.Sprintf("it began %s before the first CPU profile", termtext.Value(before.Nanoseconds(), termtext.Nanoseconds))
		}
		break
	}
	if r.status != nil && r.status.SelfCheck != nil && r.status.SelfCheck.Gaps != "" {
		return r.status.SelfCheck.Gaps
	}
	return "no CPU profile of that time has come"
}

// emptyWall is the reason for a span without a wall sample.
func (r *Reader) emptyWall(s *Span) string {
	reason := "no wall sample hit this span: it took " + termtext.Value(s.DurationNs, termtext.Nanoseconds)
	interval := r.wallInterval()
	if interval <= 0 {
		return reason + ", and what takes less time than passes between two samples often has none"
	}
	return fmt.Sprintf("%s, and its goroutines are looked at about every %s: %s samples can be expected", reason, termtext.Value(interval, termtext.Nanoseconds), termtext.Expected(float64(s.DurationNs)/float64(interval)))
}

// wallInterval returns the mean time between two wall samples in nanoseconds, 0 where it
// is not known.
func (r *Reader) wallInterval() int64 {
	if r.status == nil {
		return 0
	}
	return r.status.WallIntervalNs
}

// untilThen adds to a reason when samples will arrive.
func (r *Reader) untilThen(reason, separator string) string {
	switch s := r.status; {
	case r.fixed():
		return reason
	case s == nil || s.Running == nil:
		return reason + separator + "they come when the current profile ends"
	case s.Message != "":
		return reason + separator + strings.TrimSuffix(s.Message, ".")
	case s.WindowEnd.IsZero():
		return reason + separator + "they come when the next profile ends"
	default:
		return reason + separator + "the window is open until " + s.WindowEnd.UTC().Format("15:04:05 MST")
	}
}

// samplePeriod returns the CPU time between two samples, which the baseline of an empty
// answer shows.
func (r *Reader) samplePeriod(a *Profile) string {
	period := int64(10 * time.Millisecond) // The Go runtime's default, 100 Hz.
	if a.Baseline != nil {
		if sel := r.selection(r.resolve(a.Baseline.asked())); sel.Samples > 0 && sel.Unit == termtext.Nanoseconds {
			period = sel.Total / sel.Samples
		}
	}
	return termtext.Value(period, termtext.Nanoseconds)
}

// holds reports whether a baseline selects any sample.
func (r *Reader) holds(b *Baseline) bool {
	return r.selectsAny(r.resolve(b.asked()))
}
