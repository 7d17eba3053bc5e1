// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Status is the account of one destination. At every moment Taken is the sum of Exported,
// Lost and Waiting.
type Status struct {
	// Name is the name of a [Queue]. Otherwise it is the type of the Exporter, or the
	// package if the Exporter is from this module.
	Name string
	// Taken is the number of profiles given to Export. A profile that was halved
	// counts as two.
	Taken uint64
	// Exported is the number of delivered profiles. OTLP exporters do not send
	// profiles without samples, and count them here.
	Exported uint64
	// Lost is the number of profiles dropped, by reason; nil if there are none:
	//
	//	full      dropped for newer ones, or larger than the queue
	//	expired   too old
	//	rejected  the destination never takes them
	//	failed    Export of an Exporter returned an error or panicked
	//	invalid   they could not be encoded
	//	unsent    Shutdown had no time for them, or they came after it
	//
	// An unsent profile becomes Exported if its last attempt succeeds after all.
	Lost map[string]uint64
	// Waiting is the number of profiles that wait or are being sent, and Bytes is
	// their size.
	Waiting int
	Bytes   int64

	// Retries is the number of attempts after the first, over all profiles.
	Retries uint64
	// Duplicates is the number of exported profiles that the destination may have twice: an
	// earlier attempt ended without a clear answer.
	Duplicates uint64
	// LastSuccess is the time of the last delivery; zero if there was none.
	LastSuccess time.Time
	// LastError is the error of the last failed attempt, at LastErrorTime;
	// nil if there was none.
	LastError     error
	LastErrorTime time.Time
}

// unsent is the reason that Shutdown's own error covers.
const unsent = "unsent"

// String returns the account in a line: "pyroscope: 40 exported, 2 rejected, 1
// waiting".
func (s Status) String() string {
	text := fmt.Sprintf("%s: %d exported", s.Name, s.Exported)
	if lost := s.lostSince(Status{}); lost != "" {
		text += ", " + lost
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf(", %d waiting", s.Waiting)
	}
	return text
}

// lostSince returns the losses since before: "2 rejected, 1 unsent".
func (s Status) lostSince(before Status) string {
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(s.Lost)) {
		if n := s.Lost[reason] - before.Lost[reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return strings.Join(texts, ", ")
}

// lose counts lost profiles; the caller holds q.mu.
func (q *Queue) lose(reason string, n uint64, cause error) {
	if q.status.Lost == nil {
		q.status.Lost = map[string]uint64{}
	}
	q.status.Lost[reason] += n
	if cause != nil {
		q.cause = cause
	}
}

// arrivedLate corrects the account of an unsent profile; the caller holds q.mu.
func (q *Queue) arrivedLate() {
	q.status.Exported++
	if q.status.Lost[unsent]--; q.status.Lost[unsent] == 0 {
		delete(q.status.Lost, unsent)
	}
}

// Status returns the account.
func (q *Queue) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.status
	s.Name, s.Lost, s.Waiting = q.name, maps.Clone(s.Lost), q.count()
	if len(s.Lost) == 0 {
		s.Lost = nil
	}
	if q.busy != nil && !q.abandoned {
		s.Bytes = q.busy.size
	}
	for _, i := range q.items {
		s.Bytes += i.size
	}
	return s
}

// count returns how many profiles wait or are being sent; the caller holds q.mu.
func (q *Queue) count() int {
	switch {
	case q.abandoned:
		return 0
	case q.busy != nil:
		return len(q.items) + 1
	}
	return len(q.items)
}

// losses returns an error for the profiles lost since the last call; nil if there are
// none. It leaves out what Shutdown's own error covers.
func (q *Queue) losses() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.status
	now.Lost = maps.Clone(now.Lost)
	delete(now.Lost, unsent)
	lost, cause := now.lostSince(q.counted), q.cause
	q.counted, q.cause = now, nil
	switch {
	case lost == "":
		return nil
	case cause == nil:
		return fmt.Errorf("%s: %s", q.name, lost)
	}
	return fmt.Errorf("%s: %s: %w", q.name, lost, cause)
}

// because adds the failure of the last attempt to err; the caller holds q.mu.
func (q *Queue) because(err error) error {
	if q.failing == nil {
		return err
	}
	return fmt.Errorf("%w (last attempt: %w)", err, q.failing)
}
