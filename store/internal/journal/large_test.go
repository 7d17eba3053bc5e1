// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"strings"
	"testing"
)

// A profile with more elements than memory may have stays and is reported.
func TestProfileThatDecodesLarge(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	file := glob(t, dir, "*.pprof.gz")[0]
	writeGzip(t, file, strings.Repeat("\x12\x00", 3<<20)) // empty samples
	second := open(t, dir, maxBytes)
	got := read(second)
	if s := second.Stats(); len(got.windows) != 0 || s.Unreadable != 1 || s.SetAside != 0 || len(got.damaged) != 1 || !strings.Contains(got.damaged[0], "too large: decoded") {
		t.Errorf("got %+v, %+v", got, s)
	}
	closed(t, second)
}
