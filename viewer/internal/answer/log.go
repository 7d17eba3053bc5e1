// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// Log is what the source and the profiler have done.
type Log struct {
	Status *Status `json:"status,omitempty"`
	Stats  Stats   `json:"stats"`
	// Kinds are the windows held, by kind.
	Kinds []Windows `json:"kinds"`
	// Fixed is set if the source receives nothing while it is read: Stats are zero, and nothing
	// happens.
	Fixed bool `json:"fixed,omitempty"`
	// Ranged is set if the source cannot be searched as a whole: Kinds have service, version and
	// kind only.
	Ranged bool `json:"ranged,omitempty"`
	// Note is a remark about the source.
	Note string `json:"note,omitempty"`
}

// Log answers the log.
func (r *Reader) Log() (*Log, error) {
	l := &Log{
		Status: r.status,
		Stats:  newStats(r.stats),
		Kinds:  newWindows(r.allWindows()),
		Fixed:  r.fixed(),
		Ranged: r.ranged(),
	}
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
	if l.Note != "" {
		termtext.Prose(&b, "note", 9, l.Note)
	}
	if !l.Fixed {
		l.writeStats(&b)
	}
	for _, k := range l.Kinds {
		if l.Ranged {
			fmt.Fprintf(&b, "%-10s of %s %s\n", termtext.OneLine(k.Kind), termtext.Clip(termtext.OneLine(k.Service), 40), termtext.Clip(termtext.OneLine(k.Version), 40))
			continue
		}
		fmt.Fprintf(&b, "%-8s %s of %s, %s: %s, %s\n", termtext.OneLine(k.Kind), termtext.Plural(k.Count, "window"), termtext.Clip(termtext.OneLine(k.Service), 12), termtext.TimeRange(k.From, k.Until), termtext.Plural(k.Samples, "sample"), termtext.Value(k.Bytes, termtext.Bytes))
		if k.Earlier != nil {
			termtext.Prose(&b, "", 9, "of "+k.Earlier.text())
		}
	}
	return b.String()
}

func (l *Log) writeStats(b *strings.Builder) {
	fmt.Fprintf(b, "store    %s of %s; %s and %s held\n", termtext.Value(l.Stats.Bytes, termtext.Bytes), termtext.Value(l.Stats.MaxBytes, termtext.Bytes), termtext.Plural(l.Stats.Spans, "span"), termtext.Plural(l.Stats.Windows, "window"))
	fmt.Fprintf(b, "         %s evicted; windows: %d received, %d evicted, %d refused as too big, %d not readable\n", termtext.Plural(l.Stats.SpansEvicted, "span"), l.Stats.WindowsReceived, l.Stats.WindowsEvicted, l.Stats.WindowsRefused, l.Stats.ParseErrors)
	l.Stats.Directory.write(b)
	if s := l.Stats; s.SpansDropped+s.ChildrenDropped+s.IDsEvicted > 0 {
		fmt.Fprintf(b, "         too much at once: %s not recorded, %d children left out, samples of %d ids evicted before their span ended\n", termtext.Plural(s.SpansDropped, "span"), s.ChildrenDropped, s.IDsEvicted)
	}
	if n := l.Stats.SamplesUnseen; n > 0 {
		fmt.Fprintf(b, "         %s of spans that the store never received: register Store.SpanProcessor on each tracer provider\n", termtext.Plural(n, "CPU sample"))
	}
}

// Stats is how full the store is, and what it lost; all zeros for another source.
type Stats struct {
	Bytes        int64 `json:"bytes"`
	MaxBytes     int64 `json:"maxBytes"`
	Spans        int   `json:"spans"`
	SpansRunning int   `json:"spansRunning"`
	Windows      int   `json:"windows"`
	SpansEnded   int64 `json:"spansEnded"`
	SpansEvicted int64 `json:"spansEvicted"`
	SpansNotKept int64 `json:"spansNotKept"`
	// SpansDropped ended faster than they could be recorded. ChildrenDropped are beyond the
	// bound of a trace. IDsEvicted are ids with samples that were evicted while their span
	// ran.
	SpansDropped    int64 `json:"spansDropped"`
	ChildrenDropped int64 `json:"childrenDropped"`
	IDsEvicted      int64 `json:"idsEvicted"`
	// SamplesUnseen are of spans that no processor of the store saw.
	SamplesUnseen   int64 `json:"samplesUnseen"`
	WindowsReceived int64 `json:"windowsReceived"`
	WindowsEvicted  int64 `json:"windowsEvicted"`
	// ParseErrors is the number of profiles that were not valid pprof. WindowsRefused were too
	// large.
	ParseErrors    int64 `json:"parseErrors"`
	WindowsRefused int64 `json:"windowsRefused"`
	CPUNs          int64 `json:"cpuNs"`
	CPULabelledNs  int64 `json:"cpuLabelledNs"`
	// Directory is left out where the store has none.
	Directory *Directory `json:"directory,omitempty"`
}

func newStats(s store.Stats) Stats {
	return Stats{
		Bytes:           s.Bytes,
		MaxBytes:        s.MaxBytes,
		Spans:           s.Spans,
		SpansRunning:    s.SpansRunning,
		Windows:         s.Windows,
		SpansEnded:      s.SpansEnded,
		SpansEvicted:    s.SpansEvicted,
		SpansNotKept:    s.SpansNotKept,
		SpansDropped:    s.SpansDropped,
		ChildrenDropped: s.ChildrenDropped,
		IDsEvicted:      s.IDsEvicted,
		SamplesUnseen:   s.SamplesUnseen,

		WindowsReceived: s.WindowsReceived,
		WindowsEvicted:  s.WindowsEvicted,
		ParseErrors:     s.ParseErrors,
		WindowsRefused:  s.WindowsRefused,
		CPUNs:           s.CPUTime.Nanoseconds(),
		CPULabelledNs:   s.CPUTimeLabelled.Nanoseconds(),
		Directory:       newDirectory(s.Directory),
	}
}

// Windows is the sum of the windows held of one kind, service, version and process.
type Windows struct {
	sums.Windows
	// Earlier is the earlier process that left them in a directory; it is left out for
	// this process.
	Earlier *EarlierProcess `json:"earlier,omitempty"`
}

func newWindows(windows []store.WindowInfo) []Windows {
	list := []Windows{}
	for _, w := range sums.ByKind(windows) {
		list = append(list, Windows{w, newEarlierProcess(w.Process)})
	}
	return list
}
