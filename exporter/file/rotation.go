// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// rotation removes the oldest files of a directory when they are too many or too old.
type rotation struct {
	dir      string
	maxBytes int64
	maxAge   time.Duration
	files    []rotated // the earliest start first
	bytes    int64     // of files
}

type rotated struct {
	name  string
	start time.Time
	size  int64
}

// scan adds the files of earlier Exporters. skipped counts other entries with such names.
func (r *rotation) scan() (skipped files.Skipped, err error) {
	isProfile := func(name string) bool {
		_, ok := profiledir.Parse(name)
		return ok
	}
	list, err := files.List(r.dir, files.Follow, &skipped, isProfile)
	for _, info := range list {
		parts, _ := profiledir.Parse(info.Name())
		r.add(rotated{info.Name(), parts.Start, info.Size()})
	}
	return skipped, err
}

func (r *rotation) add(f rotated) {
	i, _ := slices.BinarySearchFunc(r.files, f, func(a, b rotated) int {
		if a.start.After(b.start) {
			return 1
		}
		return -1 // behind others with the same time
	})
	r.files = slices.Insert(r.files, i, f)
	r.bytes += f.size
}

// write makes a file as a whole or not at all, and removes others for it. A file that cannot
// be removed, for example because it is open on Windows, stays: the next ones are removed.
func (r *rotation) write(name string, start time.Time, data []byte) error {
	n := int64(len(data))
	if n > r.maxBytes {
		return fmt.Errorf("its %d bytes exceed the limit of %d for all files", n, r.maxBytes)
	}
	if err := r.makeRoom(n); err != nil {
		return err
	}
	if err := atomicfile.Write(r.dir, name, data); err != nil {
		return err
	}
	r.add(rotated{name, start, n})
	return nil
}

func (r *rotation) makeRoom(n int64) error {
	oldest := time.Now().Add(-r.maxAge)
	var failed error
	r.files = slices.DeleteFunc(r.files, func(f rotated) bool {
		if r.bytes+n <= r.maxBytes && !f.start.Before(oldest) {
			return false
		}
		if err := os.Remove(filepath.Join(r.dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = err
			return false
		}
		r.bytes -= f.size
		return true
	})
	if r.bytes+n > r.maxBytes {
		return fmt.Errorf("remove older files: %w", failed)
	}
	return nil
}
