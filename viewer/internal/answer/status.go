// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Status is the state of the profiler, as the program gave it to the viewer.
type Status struct {
	// Running is missing where the program gave none.
	Running *bool `json:"running,omitempty"`
	// Host is set if the labels of an eBPF agent's samples are all that is known of spans.
	Host      bool      `json:"host,omitempty"`
	WindowEnd time.Time `json:"windowEnd,omitzero"`
	Message   string    `json:"message,omitempty"`
	Counters  []Counter `json:"counters,omitempty"`
	// SelfCheck is missing where the program gave none.
	SelfCheck *SelfCheck `json:"selfCheck,omitempty"`
	// CanFlush is set if a POST to flush closes the window.
	CanFlush bool `json:"canFlush,omitempty"`
	// CanListRunning is set if there is a page running.
	CanListRunning bool `json:"canListRunning,omitempty"`
	// Now is the server's clock, to which the times belong.
	Now time.Time `json:"now"`
}

// Counter is a number beside the status.
type Counter struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	Unit  string `json:"unit,omitempty"`
}

func (s *Status) stopped() bool { return s.Running != nil && !*s.Running }

// wrong is the severity of mistakes. Package selfcheck defines it.
const wrong = "wrong"

// SelfCheck is the result of the checks of what makes spans and profiles.
type SelfCheck struct {
	Checks   int       `json:"checks"`
	Findings []Finding `json:"findings"`
	// Started is about how many spans were started, Sampled about how many of them are sampled.
	Started uint64 `json:"-"`
	Sampled uint64 `json:"-"`
	// Gaps is why CPU was not profiled all the time, "" if unknown.
	Gaps string `json:"-"`
}

// Finding is the result of a check.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Seen     string `json:"seen"`
	Do       string `json:"do"`
}

func (f *Finding) text() string { return f.Seen + " " + f.Do }

// selfCheck returns the result of the self-check, a zero value without one.
func (r *Reader) selfCheck() SelfCheck {
	if r.status == nil || r.status.SelfCheck == nil {
		return SelfCheck{}
	}
	return *r.status.SelfCheck
}

// write writes the mistakes for a terminal. With all it also writes notes, and a
// line if nothing was found.
func (s *SelfCheck) write(b *strings.Builder, all bool) {
	if s == nil {
		return
	}
	line := func(text string) { termtext.Prose(b, "check", 9, text) }
	if all && len(s.Findings) == 0 {
		line(fmt.Sprintf("all %d checks pass", s.Checks))
	}
	for _, f := range s.Findings {
		if all || f.Severity == wrong {
			line(fmt.Sprintf("%s (%s): %s", f.ID, f.Severity, f.text()))
		}
	}
}

// Log is what the source and the profiler have done.
type Log struct {
	Status *Status     `json:"status,omitempty"`
	Stats  store.Stats `json:"stats"`
	// Fixed is set if the source receives nothing while it is read: Stats are zero, and nothing
	// happens.
	Fixed bool `json:"fixed,omitempty"`
	// Note is a remark about the source.
	Note string `json:"note,omitempty"`
}

// Log answers the log.
func (r *Reader) Log() (*Log, error) {
	l := &Log{Status: r.status, Stats: r.info.Stats, Fixed: r.fixed()}
	l.Note = r.notes()
	return answered(r, l)
}

// Text returns the log for a terminal.
func (l *Log) Text() string {
	var b strings.Builder
	if s := l.Status; s != nil {
		termtext.Prose(&b, "status", 9, s.Message)
		s.SelfCheck.write(&b, true)
		for _, c := range s.Counters {
			fmt.Fprintf(&b, "         %s: %s\n", termtext.OneLine(c.Name), termtext.Value(int64(c.Value), c.Unit))
		}
	}
	writeNote(&b, l.Note)
	numbers, _ := json.MarshalIndent(l.Stats, "", " ") // Numbers can be encoded.
	b.Write(numbers)
	b.WriteByte('\n')
	return b.String()
}

func (r *Reader) emptyList() string {
	switch check := r.selfCheck(); {
	case r.fixed():
		return "no span is listed here: none meets the conditions, or the profiles were saved without their ids (labels=ids)"
	case r.info.Stats.SpansNotKept > 0 && r.info.Stats.SpansNotKept >= r.info.Stats.SpansEnded:
		return termtext.Plural(r.info.Stats.SpansEnded, "span") + " ended, and WithSampling keeps none"
	case r.info.Stats.Spans > 0:
		return fmt.Sprintf("no span meets the conditions; %s held", termtext.Plural(r.info.Stats.Spans, "span"))
	case r.info.Stats.SpansEnded > 0:
		return termtext.Plural(r.info.Stats.SpansEnded, "span") + " ended, and newer profiles took their room"
	case r.status != nil && r.status.Host && r.running():
		return "no span has been seen yet: programs must label their spans, as package spanprof does, and the agent must read labels (-t all,labels)"
	case check.Started > 0 && check.Sampled == 0:
		return termtext.Plural(int64(check.Started), "span") + " started, none was sampled"
	case r.info.Stats.SpansRunning > 0:
		return r.untilThen(termtext.Plural(r.info.Stats.SpansRunning, "span") + " running, none has ended yet")
	}
	return r.untilThen("no span has ended yet")
}

func (r *Reader) emptyReason(q Query, a *Profile) string {
	kind := q.Type.Kind
	id, single := q.SpanID()
	switch {
	case !q.Type.Labelled() && len(q.Without("service_name", "service_version").Matchers) > 0:
		return fmt.Sprintf("%s profiles carry no label except span_name, for work under spanprof.Handler or spanprof.Do (golang/go#23458)", kind)
	case kind != exporter.KindCPU && a.Windows == 0:
		return fmt.Sprintf("no %s profile covers this time: the profiler's kinds do not name it, or no eBPF agent measures it", kind)
	case single && a.Span != nil:
		return r.emptySpan(kind, a.Span)
	case single:
		reason := fmt.Sprintf("nothing here has the id %q", termtext.Clip(id, termtext.MaxQuoted))
		if r.running() {
			reason += ", or its span is still running"
		}
		return r.untilThen(reason)
	case a.Windows == 0:
		return r.untilThen(fmt.Sprintf("no %s profile covers this time", kind))
	}
	return fmt.Sprintf("no sample in %s meets the conditions of the query", termtext.Plural(a.Windows, "window"))
}

// mistake adds the mistakes that the self-check found to a reason: they may be the cause.
func (r *Reader) mistake(reason string) string {
	for _, f := range r.selfCheck().Findings {
		if f.Severity == wrong {
			reason += ". " + strings.TrimSuffix(f.text(), ".")
		}
	}
	return reason
}

func (r *Reader) emptySpan(kind exporter.Kind, s *Span) string {
	gaps := ""
	if reason := r.selfCheck().Gaps; reason != "" {
		gaps = ": " + reason
	}
	switch {
	case !s.Complete:
		return r.untilThen("the samples of this span are not in yet")
	case kind != exporter.KindCPU:
		return noneHit(kind, s)
	case s.SamplesHeld > 0 && s.CPUSamples > 0:
		return fmt.Sprintf("this span has %s, but none that meets the other conditions of the query", termtext.Plural(s.CPUSamples, "sample"))
	case s.Coverage == store.CoverageEvicted.String() || s.CPUSamples > 0:
		return "CPU profiles of this span's time made room for newer ones: a store with more bytes keeps them longer"
	case s.Coverage == store.CoverageNone.String():
		return "CPU was not profiled during this span" + gaps
	case s.Coverage == store.CoveragePartial.String():
		return "no sample hit this span, but CPU was not profiled during part of it" + gaps
	}
	return fmt.Sprintf("no sample hit this span: it took %s, and two samples are 10 ms of CPU time apart by default", duration(s.Duration))
}

func noneHit(kind exporter.Kind, s *Span) string {
	return fmt.Sprintf("no %s sample hit this span: it took %s", kind, duration(s.Duration))
}

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
