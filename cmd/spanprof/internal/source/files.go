// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/pgo"
)

// maxFile bounds a file with a profile.
const maxFile = 128 << 20

// local is a file, a directory or a glob.
type local string

func (s local) Read(ctx context.Context, kind exporter.Kind, skip func(error), each func(*Profile) error) error {
	paths, err := s.paths(skip)
	if err != nil {
		return err
	}
	d := directory{kind: kind, skip: skip, each: each}
	for _, path := range paths { // one directory after the other
		if err := ctx.Err(); err != nil {
			return err
		}
		if dir := filepath.Dir(path); dir != d.path {
			d.open(dir)
		}
		if err := d.read(path, path == string(s)); err != nil {
			return err
		}
	}
	return nil
}

// paths returns the files that the source names: all profiles in and below a directory, and
// pipes with such names. The file exporter's names sort by time. skip gets errors of
// directories.
func (s local) paths(skip func(error)) ([]string, error) {
	roots := []string{string(s)}
	if _, err := os.Stat(string(s)); err != nil {
		matches, globErr := filepath.Glob(string(s))
		switch {
		case globErr != nil:
			return nil, fmt.Errorf("%s: %w", s, globErr)
		case len(matches) == 0 && strings.ContainsAny(string(s), "*?["):
			return nil, fmt.Errorf("%s: no file has such a name", s)
		case len(matches) == 0:
			return nil, fmt.Errorf("%w; an address begins with pyroscope+http://", err)
		}
		roots = matches
	}
	var paths []string
	for dirs := roots; len(dirs) > 0; dirs = dirs[1:] {
		if info, err := os.Stat(dirs[0]); err != nil || !info.IsDir() {
			paths = append(paths, dirs[0])
			continue
		}
		entries, err := files.Entries(dirs[0], files.Follow)
		if err != nil {
			skip(err)
		}
		for _, e := range entries {
			switch path := filepath.Join(dirs[0], e.Name()); {
			case e.IsDir() && !strings.HasPrefix(e.Name(), ".."): // a ConfigMap's own: links beside it lead there
				dirs = append(dirs, path)
			case !e.IsDir() && isProfile(path):
				paths = append(paths, path)
			}
		}
		if len(paths)+len(dirs) > maxPaths {
			return nil, fmt.Errorf("%s: there are more than %d profiles: name fewer", s, maxPaths)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no profiles are there: their names end in %s", s, strings.Join(suffixes, ", "))
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(strings.Compare(filepath.Dir(a), filepath.Dir(b)), strings.Compare(a, b))
	})
	return slices.Compact(paths), nil
}

// maxPaths bounds the files and directories of a SOURCE.
const maxPaths = 1 << 20

// A default.pgo in a directory is made of the others.
var suffixes = []string{".pprof.gz", ".pprof", ".pb.gz"}

func isProfile(path string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// ReadFile returns the profile in a file.
func ReadFile(path string, links files.Links) (*profile.Profile, error) {
	data, err := files.Read(path, links, maxFile)
	if err != nil {
		return nil, err
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsed, nil
}
