// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/spanprof/spanprof/store/internal/journal"
)

// ErrNoRuns is the error of OpenDirectory for a directory that no process has written as
// WithDirectory does.
var ErrNoRuns = journal.ErrNoRuns

// OpenDirectory returns a store that holds what processes have left in a directory, those
// too that run: as much as WithMaxBytes has room for. Nothing in the directory is changed,
// and the store takes in nothing more. left tells of each file that could not be read. The
// error names the directory, or the option that is wrong.
func OpenDirectory(path string, left func(error), opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err == nil && c.directory != "" {
		err = errors.New("store: OpenDirectory writes nothing: leave WithDirectory out")
	}
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	d := &directory{store: s, path: path, stop: make(chan struct{}), restored: make(chan struct{}), processes: make(map[*journal.Run]uint8)}
	if d.journal, err = journal.Read(path, s.maxBytes); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	d.left = left
	s.directory = d
	d.restore()
	s.shut = true
	return s, nil
}
