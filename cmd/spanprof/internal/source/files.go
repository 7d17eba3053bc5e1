// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// files is a file, a directory or a glob.
type files string

func (s files) String() string { return string(s) }

func (s files) Read(ctx context.Context, want Want, skip func(error), each func(*Profile) error) error {
	paths, err := s.paths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := readFile(path)
		if err != nil {
			if skip == nil {
				return err
			}
			skip(err)
			continue
		}
		if len(want.Kinds) > 0 && !slices.Contains(want.Kinds, p.Kind()) {
			continue
		}
		if err := each(p); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// paths returns the files that the source names: all profiles in and below a
// directory. The names that the file exporter gives sort by time.
func (s files) paths() ([]string, error) {
	roots := []string{string(s)}
	if _, err := os.Stat(string(s)); err != nil {
		matches, globErr := filepath.Glob(string(s))
		switch {
		case globErr != nil:
			return nil, fmt.Errorf("%s: %w", s, globErr)
		case len(matches) == 0 && strings.ContainsAny(string(s), "*?["):
			return nil, fmt.Errorf("%s: no file has such a name", s)
		case len(matches) == 0:
			return nil, err
		}
		roots = matches
	}
	var paths []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if path == root || isProfile(path) {
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no profiles are there: their names end in .pprof.gz, .pprof, .pb.gz or .pgo", s)
	}
	return paths, nil
}

func isProfile(path string) bool {
	return slices.ContainsFunc([]string{".pprof.gz", ".pprof", ".pb.gz", ".pgo"}, func(suffix string) bool {
		return strings.HasSuffix(path, suffix)
	})
}

func readFile(path string) (*Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parsed, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: no profile in the pprof format: %w", path, err)
	}
	w := exporter.Window{
		Kind:     kindOf(parsed),
		Start:    time.Unix(0, parsed.TimeNanos),
		Duration: time.Duration(parsed.DurationNanos),
	}
	return &Profile{Profile: exporter.NewParsedProfile(w, parsed), Name: path}, nil
}

// kindOf tells the kind of a profile by its sample types.
func kindOf(p *profile.Profile) exporter.Kind {
	has := func(names ...string) bool {
		return slices.ContainsFunc(p.SampleType, func(t *profile.ValueType) bool { return slices.Contains(names, t.Type) })
	}
	switch {
	case has("cpu", "samples"):
		return exporter.KindCPU
	case has("inuse_space", "alloc_space"):
		return exporter.KindHeap
	case has("wall"):
		return exporter.KindWall
	case has("goroutine", "goroutines"):
		return exporter.KindGoroutine
	case has("contentions", "delay"):
		if p.PeriodType != nil && p.PeriodType.Type == "contentions" {
			return exporter.KindMutex
		}
	}
	return "unknown"
}
