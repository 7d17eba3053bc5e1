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
	// PID, Service and Version are left out if unknown. Service and Version are of its profiles.
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

// write writes the directory among the numbers of the store; nil is none.
func (d *Directory) write(b *strings.Builder) {
	if d == nil {
		return
	}
	fmt.Fprintf(b, "         %s of %s on disk; of earlier processes %s and %s held\n", termtext.Value(d.Bytes, termtext.Bytes), termtext.Value(d.MaxBytes, termtext.Bytes), termtext.Plural(d.Spans, "span"), termtext.Plural(d.Windows, "window"))
	if d.WriteFailures+d.FilesUnreadable > 0 {
		fmt.Fprintf(b, "         directory: %s not written, %d not readable\n", termtext.Plural(d.WriteFailures, "file"), d.FilesUnreadable)
	}
	if d.WindowsLeftOut > 0 {
		fmt.Fprintf(b, "         no room in memory for %s of earlier processes\n", termtext.Plural(d.WindowsLeftOut, "window"))
	}
	if d.Restoring {
		b.WriteString("         the files of earlier processes are being read\n")
	}
}
