// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/spanprof/spanprof/store/internal/spanlog"

// DirectoryStats says what a Store has written to its directory and read from it; see
// WithDirectory. It is zero where there is none.
type DirectoryStats struct {
	// Path is the directory.
	Path string
	// Bytes is the size of all files, but for those of other processes that run now, and
	// MaxBytes its bound.
	Bytes, MaxBytes int64
	// FilesWritten are the files of windows and of spans that were written, WriteFailures
	// those that could not be, or came while too many were waiting: what is in them is
	// in memory alone. FilesRemoved are those that made room.
	FilesWritten, WriteFailures, FilesRemoved int64
	// FilesStuck are the files that should make room and cannot be removed: newer ones go in
	// their place.
	FilesStuck int
	// FilesSetAside are the files that were damaged and were renamed; FilesUnreadable the
	// files and subdirectories that could not be read and are as they were: those of another
	// user, of a version that this program does not know, or too large for WithMaxBytes.
	FilesSetAside, FilesUnreadable int64
	// SlowSpansLeftOut is how many of the slowest spans, which outlive others, found no room in
	// the quarter of MaxBytes that is theirs when they were last written.
	SlowSpansLeftOut int
	// Restoring says that what earlier processes have left is being read.
	Restoring bool
	// Spans and Windows are those of earlier processes that are held. They are in no
	// other number of Stats but Bytes.
	Spans, Windows int
	// WindowsLeftOut are the windows of earlier processes for which WithMaxBytes had no room
	// at the start, SpanFilesLeftOut the files of which it had none for some spans: the
	// samples of the slowest spans may be held all the same.
	WindowsLeftOut, SpanFilesLeftOut int
	// NamesLeftOut is how many counts by name in windows of earlier processes found no room of
	// their own: they count as "other".
	NamesLeftOut int
	// ProcessesNotToldApart are the oldest of more than 254 earlier processes with files:
	// their spans and windows are held without what is known of each process.
	ProcessesNotToldApart int
}

// leftOut is what of earlier processes is on the disk alone.
type leftOut struct{ windows, spanFiles, names, processes int }

// stats returns what is known of the directory. The caller holds the store's lock.
func (d *directory) stats(restored spanlog.Totals) DirectoryStats {
	if d == nil {
		return DirectoryStats{}
	}
	s := d.journal.Stats()
	restoring := true
	select {
	case <-d.restored:
		restoring = false
	default:
	}
	return DirectoryStats{
		Path: d.path, Bytes: s.Bytes, MaxBytes: d.maxBytes,
		FilesWritten: int64(s.Written), WriteFailures: int64(s.Failed) + d.store.missed, FilesRemoved: int64(s.Removed),
		FilesStuck:    s.Stuck,
		FilesSetAside: int64(s.SetAside), FilesUnreadable: int64(s.Unreadable),
		SlowSpansLeftOut: s.KeptLeft, Restoring: restoring, Spans: restored.Restored, Windows: d.store.index.restored,
		WindowsLeftOut: d.leftOut.windows, SpanFilesLeftOut: d.leftOut.spanFiles, NamesLeftOut: d.leftOut.names,
		ProcessesNotToldApart: d.leftOut.processes,
	}
}
