// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// wait returns when an error that speaks of something has come. They come some
// time after the call that found them has returned.
func (l *errorLog) wait(t *testing.T, something string) {
	t.Helper()
	timeout := time.After(4 * longest)
	for {
		l.mu.Lock()
		heard := slices.ContainsFunc(l.errs, func(err error) bool { return strings.Contains(err.Error(), something) })
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if heard {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("nothing about %q was reported", something)
		}
	}
}

// take empties the log and returns the errors with something in their text.
// Profilers of other tests may have reported too.
func (l *errorLog) take(something string) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := slices.DeleteFunc(l.errs, func(err error) bool { return !strings.Contains(err.Error(), something) })
	l.errs = nil
	return errs
}
