// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"os"
	"strings"
	"time"
)

// item is a profile in a lane, in memory or in a file.
type item struct {
	number uint64 // counts up in the order of arrival
	part   int    // of a profile that was split
	size   int64

	// The rest is of items that are sent again if they fail. While one is being
	// sent, only its attempt uses these.
	window   Window
	end      time.Time // from which its age counts
	attempts int
	failedAt uint64 // retry.answers when it last failed; 0 if it has not
	bad      int    // how often it failed although another was taken since the last time
	doubtful bool   // the destination may have it
	spilled  bool   // it is in a file

	file    string      // where it is, if it is spilled
	profile *Profile    // nil while it is in a file
	at      [orders]int // where it is in a backlog
}

// unreadableError says that the bytes of a profile cannot be had.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// newItem returns what waits in memory. It has a Profile of its own, because the
// caller's may have been made from the parsed form, which is many times larger.
func newItem(w Window, end time.Time, data []byte) *item {
	return &item{window: w, end: end, size: int64(len(data)), profile: NewProfile(w, data)}
}

// load returns the profile for an attempt.
func (i *item) load() (*Profile, error) {
	if i.profile != nil {
		return i.profile, nil
	}
	w, data, err := readSpilled(i.file)
	if err != nil {
		return nil, &unreadableError{err}
	}
	i.window, i.profile = w, NewProfile(w, data)
	return i.profile, nil
}

// unload forgets the bytes of an attempt if there is a file.
func (i *item) unload() {
	if i.spilled {
		i.profile = nil
	}
}

// mark says in the name of the file whether the destination may have the profile:
// the next Queue has to know it, even if the process is killed in the middle of an
// attempt. Where that fails, a duplicate is not counted.
func (i *item) mark(doubtful bool) {
	if !i.spilled || doubtful == strings.HasSuffix(i.file, doubtfulSuffix) {
		return
	}
	from, to := spillSuffix, doubtfulSuffix
	if !doubtful {
		from, to = to, from
	}
	name := strings.TrimSuffix(i.file, from) + to
	if os.Rename(i.file, name) == nil {
		i.file = name
	}
}

// remove removes the file. Where that fails, the profile is sent twice, as it is
// after a kill.
func (i *item) remove() {
	if i.spilled {
		_ = os.Remove(i.file)
	}
}
