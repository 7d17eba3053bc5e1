// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LaneStatus is the account of one lane, which takes profiles to one destination:
// what became of those that it was given or found in its directory. Each of them is in
// exactly one of Exported, Empty, Failed, the six reasons of Dropped, Kept and Waiting;
// Taken is their sum.
type LaneStatus struct {
	// Name is that of a [Queue], and otherwise the type of the Exporter, or its
	// package if that is of this module.
	Name string
	// Taken are the profiles that the lane was given or found in its directory.
	// One that was split counts once for each part.
	Taken uint64
	// Exported are the profiles that the destination has taken.
	Exported uint64
	// Empty are the profiles without samples that were not sent, because the
	// destination has no use for them.
	Empty uint64
	// Failed are the profiles whose Export returned an error or panicked. A Queue
	// has none: see Rejected and Failing.
	Failed uint64
	// Full are the profiles that made room for newer ones, or were larger
	// than the lane, or than what of it may wait in memory: see WithSpill.
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
	// after it. One that was being sent then, and whose answer comes after all,
	// becomes Exported; so do those of Kept.
	Unsent uint64
	// Kept are the profiles that Shutdown had no time for and that are in
	// the directory, for the next Queue.
	Kept uint64
	// Waiting are the profiles that wait or are being sent, and Bytes is what
	// they take, in memory or in files. A Queue has their pprof form.
	Waiting int
	Bytes   int64

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
	// LastError is why an attempt or an Export failed last, at LastErrorTime;
	// nil if none has.
	LastError     error
	LastErrorTime time.Time
}

// Dropped returns how many profiles are lost, for any reason but an Export that
// failed.
func (s LaneStatus) Dropped() uint64 {
	return s.Full + s.Expired + s.Rejected + s.Failing + s.Unreadable + s.Unsent
}

// String returns the account in a line: "pyroscope: 40 exported, 2 rejected, 1
// waiting".
func (s LaneStatus) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d exported", s.Name, s.Exported)
	if s.Empty > 0 {
		fmt.Fprintf(&b, ", %d empty", s.Empty)
	}
	for _, c := range s.Losses() {
		fmt.Fprintf(&b, ", %d %s", c.N, c.Reason)
	}
	if s.Kept > 0 {
		fmt.Fprintf(&b, ", %d kept for the next start", s.Kept)
	}
	if s.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting", s.Waiting)
	}
	return b.String()
}

// Loss is a number of profiles that were lost for a reason: "failed" or one of
// full, expired, rejected, failing, unreadable and unsent.
type Loss struct {
	Reason string
	N      uint64
}

// Losses returns the reasons for which profiles were lost.
func (s LaneStatus) Losses() []Loss { return s.lossesSince(LaneStatus{}) }

// failed and unsent are reasons that are not always meant.
const failed, unsent = "failed", "unsent"

func (s LaneStatus) lossesSince(before LaneStatus) []Loss {
	return slices.DeleteFunc([]Loss{
		{failed, s.Failed - before.Failed},
		{"full", s.Full - before.Full},
		{"expired", s.Expired - before.Expired},
		{"rejected", s.Rejected - before.Rejected},
		{"failing", s.Failing - before.Failing},
		{"unreadable", s.Unreadable - before.Unreadable},
		{unsent, s.Unsent - before.Unsent},
	}, func(l Loss) bool { return l.N == 0 })
}

// lostSince returns how many profiles were lost since before, and for what reasons,
// but for those that Shutdown had no time for.
func (s LaneStatus) lostSince(before LaneStatus) (n uint64, text string) {
	var texts []string
	for _, l := range s.lossesSince(before) {
		if l.Reason != unsent {
			n += l.N
			texts = append(texts, fmt.Sprintf("%d %s", l.N, l.Reason))
		}
	}
	return n, strings.Join(texts, ", ")
}

// Status returns the account.
func (l *lane) Status() LaneStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	sending, _ := l.sendingBytes()
	s.Name, s.Waiting, s.Bytes = l.name, l.count(), l.bytes+l.waiting.bytes+sending
	if l.preparing != nil {
		s.Bytes += l.preparing.size
	}
	return s
}

// count returns how many profiles are not done with; the caller holds l.mu.
func (l *lane) count() int {
	if l.abandoned {
		return 0
	}
	n := len(l.given) + l.waiting.len() + len(l.sending)
	if l.preparing != nil {
		n++
	}
	return n
}

// sendingBytes returns the size of what is being sent, and how much of that is in no
// file; the caller holds l.mu.
func (l *lane) sendingBytes() (n, memory int64) {
	if l.abandoned {
		return 0, 0
	}
	for i := range l.sending {
		n += i.size
		memory += i.inMemory()
	}
	return n, memory
}

// losses returns an error that says what was lost since its last call; nil if
// nothing was. What Shutdown leaves is not in it, but in Shutdown's own error.
func (l *lane) losses() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, lost := l.status.lostSince(l.told)
	cause := l.lost
	l.told, l.lost = l.status, nil
	switch {
	case lost == "":
		return nil
	case cause == nil:
		return fmt.Errorf("%s: %s", l.name, lost)
	}
	return fmt.Errorf("%s: %s: %w", l.name, lost, cause)
}

// because adds why the last attempt failed to the end of a context; the caller
// holds l.mu.
func (l *lane) because(err error) error {
	if l.retry == nil || l.retry.failure == nil {
		return err
	}
	return fmt.Errorf("%w (last attempt: %w)", err, l.retry.failure)
}
