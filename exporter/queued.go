// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"os"
	"strings"
	"time"
)

// queued is a profile that waits in a Queue, in memory or in a file.
type queued struct {
	window   Window
	end      time.Time // from which its age counts
	size     int64
	number   uint64 // counts up in the order of Export
	attempts int
	failedAt uint64 // Queue.answers when it last failed; 0 if it has not
	bad      int    // how often it failed although another was taken since the last time
	doubtful bool   // the destination may have it

	file    string   // where it is; empty if it is in memory
	profile *Profile // nil while it is in a file
}

// unreadableError says that the bytes of a profile cannot be had.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// newQueued returns what waits in memory. It has a Profile of its own, because
// the caller's may hold the parsed form too, which is many times larger.
func newQueued(w Window, end time.Time, data []byte) queued {
	return queued{window: w, end: end, size: int64(len(data)), profile: NewProfile(w, data)}
}

// load returns the profile for an attempt.
func (q *queued) load() (*Profile, error) {
	if q.profile != nil {
		return q.profile, nil
	}
	w, data, err := readSpilled(q.file)
	if err != nil {
		return nil, &unreadableError{err}
	}
	q.window, q.profile = w, NewProfile(w, data)
	return q.profile, nil
}

// unload forgets what the attempt has made of the profile: its bytes, if there is
// a file, and its parsed form, which is many times larger and may wait for long.
func (q *queued) unload() {
	if q.file != "" {
		q.profile = nil
		return
	}
	if data, err := q.profile.Pprof(); err == nil { // it has the bytes
		q.profile = NewProfile(q.window, data)
	}
}

// mark says in the name of the file whether the destination may have the profile:
// the next Queue has to know it, even if the process is killed in the middle of an
// attempt. Where that fails, a duplicate is not counted.
func (q *queued) mark(doubtful bool) {
	if q.file == "" || doubtful == strings.HasSuffix(q.file, doubtfulSuffix) {
		return
	}
	from, to := spillSuffix, doubtfulSuffix
	if !doubtful {
		from, to = to, from
	}
	name := strings.TrimSuffix(q.file, from) + to
	if os.Rename(q.file, name) == nil {
		q.file = name
	}
}

// remove removes the file. Where that fails, the profile is sent twice, as it is
// after a kill.
func (q *queued) remove() {
	if q.file != "" {
		_ = os.Remove(q.file)
	}
}
