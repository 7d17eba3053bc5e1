// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
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
	Kinds []sums.Windows `json:"kinds"`
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
		Kinds:  sums.ByKind(r.allWindows()),
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
	numbers, _ := json.MarshalIndent(struct {
		Stats Stats          `json:"stats"`
		Kinds []sums.Windows `json:"kinds"`
	}{l.Stats, l.Kinds}, "", " ") // Numbers, texts and times can be encoded.
	b.Write(numbers)
	b.WriteByte('\n')
	return b.String()
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

// Directory is the files of a store and what is held of earlier processes.
type Directory struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"maxBytes"`
	// WriteFailures are files that could not be written. SegmentsRemoved are the oldest segments,
	// removed for newer ones. FilesUnreadable are files that could not be read.
	FilesWritten    int64 `json:"filesWritten"`
	WriteFailures   int64 `json:"writeFailures"`
	SegmentsRemoved int64 `json:"segmentsRemoved"`
	FilesUnreadable int64 `json:"filesUnreadable"`
	// Restoring is set while the files of earlier processes are read.
	Restoring bool `json:"restoring,omitempty"`
	// Spans and Windows of earlier processes are held, and in no other number.
	Spans   int `json:"spans"`
	Windows int `json:"windows"`
	// WindowsLeftOut and SpansLeftOut are of earlier processes, without room in memory.
	WindowsLeftOut int64 `json:"windowsLeftOut,omitempty"`
	SpansLeftOut   int64 `json:"spansLeftOut,omitempty"`
}

// newDirectory returns nil without a directory.
func newDirectory(d store.DirectoryStats) *Directory {
	if d.Path == "" {
		return nil
	}
	of := Directory(d)
	return &of
}
