// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// earlierCounts are the counts by name of windows that are about to be restored: they stand in
// the files of spans, which come first.
type earlierCounts struct {
	// windows has all that there are, with nil where nothing was counted.
	windows map[countsKey]*spanlog.Counts
	// room is how many bytes further names may take.
	room int64
	// left is how many names found none: they count as the rest of their service, or of all
	// services.
	left int
}

// countsKey is the file of a window.
type countsKey struct {
	run  *journal.Run
	file string
}

func newEarlierCounts(room int64, files []journal.File) *earlierCounts {
	c := &earlierCounts{windows: make(map[countsKey]*spanlog.Counts), room: room}
	for _, f := range files {
		if f.Type == journal.Profile {
			c.windows[countsKey{f.Run, f.Name}] = nil
		}
	}
	return c
}

// add adds the counts of windows of a run, but of those that are not there any more. It does
// nothing where c is nil.
func (c *earlierCounts) add(of *journal.Run, windows []journal.Window) {
	if c == nil {
		return
	}
	for _, w := range windows {
		key := countsKey{of, w.File}
		own, ok := c.windows[key]
		if !ok {
			continue
		}
		if own == nil {
			own = &spanlog.Counts{}
			c.windows[key] = own
		}
		c.room += own.Bytes
		for _, n := range counts(w.Names) {
			if !own.Add(n, c.room-own.Bytes) {
				c.left++
			}
		}
		c.room -= own.Bytes
	}
}

// close forgets all counts, and takes no more in.
func (c *earlierCounts) close() { c.windows = nil }

// take returns the counts of a window, and forgets them.
func (c *earlierCounts) take(of *journal.Run, file string) []spanlog.Count {
	key := countsKey{of, file}
	own := c.windows[key]
	delete(c.windows, key)
	if own == nil {
		return nil
	}
	c.room += own.Bytes
	return own.List()
}
