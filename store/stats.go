// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/store/internal/segment"
)

// Stats is how full a Store is, what it received and what it lost. All counts are
// cumulative except those that are "held".
type Stats struct {
	// Bytes is the memory held, as far as it is counted. MaxBytes is its bound.
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"maxBytes"`
	// SpansEnded is the number of spans that were recorded: local roots, and spans with a
	// profile of their own.
	SpansEnded int64 `json:"spansEnded"`
	// Spans is the number of ended spans held, Windows the number of profiles held.
	Spans   int `json:"spans"`
	Windows int `json:"windows"`
	// SpansRunning is the number of local roots that have not ended, as far as goroutines
	// have their labels.
	SpansRunning int `json:"spansRunning"`
	// SpansNotKept is the number of spans that WithSampling does not keep. SpansEvicted is
	// the number of spans that were evicted.
	SpansNotKept int64 `json:"spansNotKept"`
	SpansEvicted int64 `json:"spansEvicted"`
	// SpansDropped is the number of spans that ended faster than they could be recorded.
	// They are in no other number. ChildrenDropped is the number of children beyond 64
	// of a trace.
	SpansDropped    int64 `json:"spansDropped"`
	ChildrenDropped int64 `json:"childrenDropped"`
	// IDsEvicted is the number of ids with samples that were evicted while their span ran, or
	// although it ended later.
	IDsEvicted int64 `json:"idsEvicted"`
	// SamplesUnseen is the number of CPU samples of spans that ended, and that no processor of
	// this store saw. It lags by up to two segments. A tracer provider that was
	// replaced without SpanProcessor shows here. Spans that were dropped may count too.
	SamplesUnseen int64 `json:"samplesUnseen"`
	// WindowsReceived is the number of accepted profiles, WindowsEvicted the number of
	// evicted ones.
	WindowsReceived int64 `json:"windowsReceived"`
	WindowsEvicted  int64 `json:"windowsEvicted"`
	// ParseErrors is the number of profiles that were not valid pprof. WindowsRefused
	// alone exceed half of the bytes.
	ParseErrors    int64 `json:"parseErrors"`
	WindowsRefused int64 `json:"windowsRefused"`
	// CPUTime is the time of all CPU samples received, CPUTimeLabelled of those with a
	// profile_id, a span_id or a span_name.
	CPUTime         time.Duration `json:"cpuNs"`
	CPUTimeLabelled time.Duration `json:"cpuLabelledNs"`
	// Directory is about the files of WithDirectory, and the earlier processes in them.
	Directory DirectoryStats `json:"directory,omitzero"`
}

// DirectoryStats is what a Store wrote to its directory and read from it; see
// WithDirectory. It is zero without a directory.
type DirectoryStats struct {
	// Path is the directory.
	Path string `json:"path"`
	// Bytes is the size of the files of this process and of earlier ones. MaxBytes is its
	// bound.
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"maxBytes"`
	// FilesWritten are files of profiles and of spans. WriteFailures are files that could
	// not be written, or arrived while too many were waiting: their contents are in memory
	// only. SegmentsRemoved are the oldest segments, removed for newer ones.
	FilesWritten    int64 `json:"filesWritten"`
	WriteFailures   int64 `json:"writeFailures"`
	SegmentsRemoved int64 `json:"segmentsRemoved"`
	// FilesUnreadable are files and directories that could not be read and are
	// unchanged: damaged, of another user, or of an earlier version.
	FilesUnreadable int64 `json:"filesUnreadable"`
	// Spans and Windows are the spans and profiles of earlier processes held. They are in
	// no other number of Stats except Bytes.
	Spans   int `json:"spans"`
	Windows int `json:"windows"`
	// WindowsLeftOut are the profiles of earlier processes that had no room in memory.
	// SpansLeftOut are their spans without room, as far as their segments were read.
	WindowsLeftOut int64 `json:"windowsLeftOut,omitempty"`
	SpansLeftOut   int64 `json:"spansLeftOut,omitempty"`
}

// Stats returns what the store holds, received and lost.
func (s *Store) Stats() Stats {
	s.intake.Drain()
	return s.stats(s.room.Stats())
}

func (s *Store) stats(of segment.Stats) Stats {
	stats := Stats{
		Bytes: of.Bytes, MaxBytes: s.config.maxBytes, SpansEnded: of.SpansEnded, Spans: of.Held.Spans, Windows: of.Held.Windows,
		SpansRunning: len(s.running.list()), SpansNotKept: of.SpansUnlisted, SpansEvicted: of.SpansEvicted,
		SpansDropped: s.intake.Dropped(), ChildrenDropped: of.ChildrenDropped, IDsEvicted: of.Unended, SamplesUnseen: of.Unseen,
		WindowsReceived: of.WindowsReceived, WindowsEvicted: of.WindowsEvicted, ParseErrors: of.ParseErrors, WindowsRefused: of.WindowsRefused,
		CPUTime: time.Duration(of.CPU), CPUTimeLabelled: time.Duration(of.Labelled),
	}
	if s.config.directory != "" {
		stats.Directory = DirectoryStats{
			Path: s.config.directory, Bytes: of.Disk.Bytes, MaxBytes: s.config.directoryBytes,
			FilesWritten: of.Disk.Files, WriteFailures: of.Disk.Failed, SegmentsRemoved: of.Disk.Removed,
			FilesUnreadable: of.Unreadable,
			Spans:           of.Earlier.Spans, Windows: of.Earlier.Windows, WindowsLeftOut: of.LeftOut, SpansLeftOut: of.SpansLeftOut,
		}
	}
	return stats
}
