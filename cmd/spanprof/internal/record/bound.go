// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// room bounds the profiles of all targets. It is safe for concurrent use.
type room struct {
	dir string // of all targets
	max int64

	mu               sync.Mutex
	removed, skipped int
	report           func(string)
}

// kept is a profile in a file.
type kept struct {
	path, name string // name begins with the time
	size       int64
}

// forWrite calls write when there is room for n bytes more, for which the oldest
// profiles are removed.
func (r *room) forWrite(n int64, write func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.max {
		return fmt.Errorf("the profile has %d bytes, and all together may have %d: record with a larger -max-bytes", n, r.max)
	}
	all, sum, err := r.kept()
	if err != nil {
		return err
	}
	for _, k := range all {
		if sum+n <= r.max {
			break
		}
		if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove older profiles: %w", err)
		}
		sum -= k.size
		r.removed++
	}
	return write()
}

// kept returns the profiles of all runs of all targets, oldest first, and their size.
// Earlier recordings are included. Other files are left alone.
func (r *room) kept() (all []kept, sum int64, err error) {
	var skipped files.Skipped
	dirs := []string{r.dir}
	for range 2 { // targets, and their runs
		parents := dirs
		dirs = nil
		for _, parent := range parents {
			entries, err := files.Entries(parent, files.Follow)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, 0, err
			}
			for _, e := range entries {
				if e.IsDir() { // a link may lead out of it
					dirs = append(dirs, filepath.Join(parent, e.Name()))
				}
			}
		}
	}
	for _, run := range dirs {
		if _, err := os.Stat(filepath.Join(run, source.RecordingFile)); err != nil {
			continue
		}
		list, err := files.List(run, files.NoFollow, &skipped, func(name string) bool { _, ok := profiledir.Parse(name); return ok })
		if err != nil {
			return nil, 0, err
		}
		for _, info := range list {
			all = append(all, kept{path: filepath.Join(run, info.Name()), name: info.Name(), size: info.Size()})
			sum += info.Size()
		}
	}
	if skipped.N > r.skipped {
		r.report("skipped: " + skipped.Err().Error())
	}
	r.skipped = skipped.N
	slices.SortFunc(all, func(a, b kept) int { return strings.Compare(a.name, b.name) })
	return all, sum, nil
}
