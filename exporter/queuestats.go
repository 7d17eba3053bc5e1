// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import "time"

// QueueStats counts what became of the profiles that a [Queue] was given or
// found in its directory. Each of them is in exactly one of Exported, the six
// reasons of Dropped, Kept and Waiting.
type QueueStats struct {
	// Exported are the profiles that the destination has taken.
	Exported uint64
	// Full are the profiles that made room for newer ones, or were larger
	// than the Queue.
	Full uint64
	// Expired are the profiles that became too old.
	Expired uint64
	// Rejected are the profiles that the destination will never take, by
	// its answer.
	Rejected uint64
	// Failing are the profiles that were to be tried again, and failed
	// again and again while others were taken.
	Failing uint64
	// Unreadable are the profiles whose bytes could not be had: the
	// encoder failed, or a file is damaged or gone.
	Unreadable uint64
	// Unsent are the profiles that Shutdown had no time for, or that came
	// after it.
	Unsent uint64
	// Kept are the profiles that Shutdown had no time for and that are in
	// the directory, for the next Queue.
	Kept uint64
	// Waiting are the profiles that wait or are being sent, and
	// WaitingBytes is the size of their pprof forms or files.
	Waiting      int
	WaitingBytes int64

	// Retries is the number of attempts after the first, over all profiles.
	Retries uint64
	// Duplicates are the exported profiles which the destination may have
	// twice: an earlier attempt, of this process or of one before it that
	// shared the directory, ended without an answer that says it has not
	// taken them.
	Duplicates uint64
	// NotSpilled are the profiles that had to wait in memory because no
	// file could be written.
	NotSpilled uint64
	// LastSuccess is when a profile was last exported; zero if none was.
	LastSuccess time.Time
}

// Dropped returns how many profiles are lost, for any reason.
func (s QueueStats) Dropped() uint64 {
	return s.Full + s.Expired + s.Rejected + s.Failing + s.Unreadable + s.Unsent
}
