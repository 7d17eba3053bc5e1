// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// stopped reports whether no samples will come.
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

// text returns both sentences.
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
	l := &Log{Status: r.status, Stats: r.stats, Fixed: r.fixed()}
	l.Note = r.notes()
	return answered(r, l)
}

// Text returns the log for a terminal.
func (l *Log) Text() string {
	var b strings.Builder
	if s := l.Status; s != nil {
		switch {
		case s.Message != "":
			termtext.Prose(&b, "status", 9, s.Message)
		case !s.WindowEnd.IsZero():
			fmt.Fprintf(&b, "status   profiling; the window is open until %s\n", s.WindowEnd.UTC().Format("15:04:05 MST"))
		}
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
