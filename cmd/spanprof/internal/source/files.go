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

func (s local) String() string { return string(s) }

func (s local) Read(ctx context.Context, kinds []exporter.Kind, skip func(error), each func(*Profile) error) error {
	failed := func(err error) error { return pass(ctx, skip, each, nil, err) }
	paths, err := s.paths(failed)
	if err != nil {
		return err
	}
	runs := map[string]string{}
	for len(paths) > 0 { // one directory after the other
		dir := filepath.Dir(paths[0])
		n := slices.IndexFunc(paths, func(path string) bool { return filepath.Dir(path) != dir })
		if n < 0 {
			n = len(paths)
		}
		d := directory{kinds: kinds, failed: failed, each: each, last: map[exporter.Kind]snapshot{}}
		if d.recording, err = readRecording(dir); err != nil {
			if err := failed(err); err != nil {
				return err
			}
		}
		d.replica = dir
		if d.recording != nil && d.recording.Run != "" {
			run := filepath.Dir(dir) + " " + d.recording.Run
			if runs[run] == "" {
				runs[run] = dir
			}
			d.replica = runs[run]
		}
		for _, path := range paths[:n] {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.read(path, path == string(s)); err != nil {
				return err
			}
		}
		paths = paths[n:]
	}
	return nil
}

// paths returns the files that the source names: all profiles in and below a directory, and
// pipes with such names. The file exporter's names sort by time. failed gets errors of
// directories.
func (s local) paths(failed func(error) error) ([]string, error) {
	roots := []string{string(s)}
	if _, err := os.Stat(string(s)); err != nil {
		matches, globErr := filepath.Glob(string(s))
		switch {
		case globErr != nil:
			return nil, fmt.Errorf("%s: %w", s, globErr)
		case len(matches) == 0 && strings.ContainsAny(string(s), "*?["):
			return nil, fmt.Errorf("%s: no file has such a name", s)
		case len(matches) == 0:
			return nil, fmt.Errorf("%w; an address begins with http:// or https://", err)
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
			if err := failed(err); err != nil {
				return nil, err
			}
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

var suffixes = []string{".pprof.gz", ".pprof", ".pb.gz", ".pgo"}

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
