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
	"github.com/spanprof/spanprof/internal/profiledir"
)

// room bounds the profiles of all targets. It is safe for concurrent use.
type room struct {
	dir string // of all targets
	max int64

	mu      sync.Mutex
	removed int
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
			return fmt.Errorf("make room: %w", err)
		}
		sum -= k.size
		r.removed++
	}
	return write()
}

// kept returns the profiles of all runs of all targets, those of earlier
// recordings too, oldest first, and their size. Other files are left alone.
func (r *room) kept() (all []kept, sum int64, err error) {
	targets, err := directories(r.dir)
	if err != nil {
		return nil, 0, err
	}
	for _, target := range targets {
		runs, err := directories(target)
		if err != nil {
			return nil, 0, err
		}
		for _, run := range runs {
			if _, err := os.Stat(filepath.Join(run, source.RecordingFile)); err != nil {
				continue
			}
			entries, err := os.ReadDir(run)
			if err != nil {
				return nil, 0, err
			}
			for _, e := range entries {
				if _, ok := profiledir.Parse(e.Name()); !ok || !e.Type().IsRegular() {
					continue
				}
				info, err := e.Info()
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return nil, 0, err
				}
				all = append(all, kept{path: filepath.Join(run, e.Name()), name: e.Name(), size: info.Size()})
				sum += info.Size()
			}
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return strings.Compare(a.name, b.name) })
	return all, sum, nil
}

// directories returns the directories in dir. Links, which may lead out of it, are
// none.
func directories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}
