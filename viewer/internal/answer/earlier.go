// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// EarlierProcess is a process that has left spans and profiles in a directory.
type EarlierProcess struct {
	// Started is left out where there are too many processes to tell this one from others.
	Started time.Time `json:"started,omitzero"`
	// PID is left out where it is not known, and so are Service and Version, which are
	// those of its profiles.
	PID     int    `json:"pid,omitempty"`
	Service string `json:"service,omitempty"`
	Version string `json:"version,omitempty"`
}

// newEarlierProcess returns nil for nil.
func newEarlierProcess(p *store.Process) *EarlierProcess {
	if p == nil {
		return nil
	}
	return &EarlierProcess{Started: p.Started, PID: p.PID, Service: p.Service, Version: p.Version}
}

// text describes the process in a line.
func (p *EarlierProcess) text() string {
	if p.Started.IsZero() {
		return "one of the earlier processes that are too many to tell apart"
	}
	text := "an earlier process, started " + p.Started.UTC().Format("2006-01-02 15:04:05 MST")
	if p.PID != 0 {
		text += fmt.Sprintf(", pid %d", p.PID)
	}
	if p.Version != "" {
		text += ", version " + termtext.Clip(termtext.OneLine(p.Version), 40)
	}
	return text
}

// same reports whether two processes are one.
func (p *EarlierProcess) same(as *EarlierProcess) bool {
	return p == as || p != nil && as != nil && p.Started.Equal(as.Started) && p.PID == as.PID
}

// Directory says what is on disk, and what of it is held of earlier processes.
type Directory struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"maxBytes"`
	// FilesWritten are the files that were written, WriteFailures those that could not
	// be, FilesRemoved those that made room.
	FilesWritten  int64 `json:"filesWritten"`
	WriteFailures int64 `json:"writeFailures"`
	FilesRemoved  int64 `json:"filesRemoved"`
	// FilesStuck should make room and cannot be removed, SlowSpansLeftOut found no room among
	// the slowest spans on disk.
	FilesStuck       int `json:"filesStuck,omitempty"`
	SlowSpansLeftOut int `json:"slowSpansLeftOut,omitempty"`
	// FilesSetAside were damaged, FilesUnreadable could not be read for another reason, such
	// as an unknown version.
	FilesSetAside   int64 `json:"filesSetAside"`
	FilesUnreadable int64 `json:"filesUnreadable"`
	// Restoring says that what earlier processes have left is being read.
	Restoring bool `json:"restoring,omitempty"`
	// Spans and Windows are those of earlier processes that are held, in no other number.
	Spans   int `json:"spans"`
	Windows int `json:"windows"`
	// WindowsLeftOut and SpanFilesLeftOut are on disk, and memory had no room for them or for
	// some of their spans; NamesLeftOut counted as "other" for the same reason.
	WindowsLeftOut   int `json:"windowsLeftOut,omitempty"`
	SpanFilesLeftOut int `json:"spanFilesLeftOut,omitempty"`
	NamesLeftOut     int `json:"namesLeftOut,omitempty"`
	// ProcessesNotToldApart are the oldest, where there are too many.
	ProcessesNotToldApart int `json:"processesNotToldApart,omitempty"`
}

// newDirectory returns nil where there is none.
func newDirectory(d store.DirectoryStats) *Directory {
	if d.Path == "" {
		return nil
	}
	return &Directory{
		Path: d.Path, Bytes: d.Bytes, MaxBytes: d.MaxBytes,
		FilesWritten: d.FilesWritten, WriteFailures: d.WriteFailures, FilesRemoved: d.FilesRemoved,
		FilesSetAside: d.FilesSetAside, FilesUnreadable: d.FilesUnreadable,
		FilesStuck: d.FilesStuck, SlowSpansLeftOut: d.SlowSpansLeftOut,
		Restoring: d.Restoring, Spans: d.Spans, Windows: d.Windows,
		WindowsLeftOut: d.WindowsLeftOut, SpanFilesLeftOut: d.SpanFilesLeftOut, NamesLeftOut: d.NamesLeftOut,
		ProcessesNotToldApart: d.ProcessesNotToldApart,
	}
}

// write writes the directory among the numbers of the store; nil is none.
func (d *Directory) write(b *strings.Builder) {
	if d == nil {
		return
	}
	fmt.Fprintf(b, "         %s of %s on disk; of earlier processes %s and %s held\n", termtext.Value(d.Bytes, termtext.Bytes), termtext.Value(d.MaxBytes, termtext.Bytes), termtext.Plural(d.Spans, "span"), termtext.Plural(d.Windows, "window"))
	if d.WriteFailures+d.FilesSetAside+d.FilesUnreadable > 0 {
		fmt.Fprintf(b, "         directory: %s not written, %d set aside as damaged, %d not readable\n", termtext.Plural(d.WriteFailures, "file"), d.FilesSetAside, d.FilesUnreadable)
	}
	if d.FilesStuck > 0 {
		fmt.Fprintf(b, "         directory: %s cannot be removed, newer ones make room\n", termtext.Plural(d.FilesStuck, "file"))
	}
	if d.SlowSpansLeftOut > 0 {
		fmt.Fprintf(b, "         directory: no room for %s of the slowest; give the directory more bytes\n", termtext.Plural(d.SlowSpansLeftOut, "span"))
	}
	if d.WindowsLeftOut+d.SpanFilesLeftOut+d.NamesLeftOut > 0 {
		fmt.Fprintf(b, "         no room in memory for %s and %s of earlier processes, %s counted as other\n", termtext.Plural(d.WindowsLeftOut, "window"), termtext.Plural(d.SpanFilesLeftOut, "file")+" of spans", termtext.Plural(d.NamesLeftOut, "name"))
	}
	if d.ProcessesNotToldApart > 0 {
		fmt.Fprintf(b, "         directory: the oldest %d earlier processes are not told apart\n", d.ProcessesNotToldApart)
	}
	if d.Restoring {
		b.WriteString("         what earlier processes have left is being read\n")
	}
}
