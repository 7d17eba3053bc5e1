// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/pgo"
)

// maxFile bounds a file with a profile.
const maxFile = 256 << 20

// hostAndPort is what an address without its scheme begins with.
var hostAndPort = regexp.MustCompile(`^[\w.-]+:\d+(/|$)`)

// files is a file, a directory or a glob.
type files string

func (s files) String() string { return string(s) }

func (s files) Read(ctx context.Context, want Want, skip func(error), each func(*Profile) error) error {
	paths, err := s.paths()
	if err != nil {
		return err
	}
	failed := func(err error) error {
		if skip == nil || ctx.Err() != nil {
			return err
		}
		skip(err)
		return nil
	}
	runs := map[string]string{}
	for len(paths) > 0 { // one directory after the other
		dir := filepath.Dir(paths[0])
		n := slices.IndexFunc(paths, func(path string) bool { return filepath.Dir(path) != dir })
		if n < 0 {
			n = len(paths)
		}
		d := directory{want: want, failed: failed, each: each, last: map[exporter.Kind]snapshot{}}
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
		if err := d.end(); err != nil {
			return err
		}
		paths = paths[n:]
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
		case len(matches) == 0 && hostAndPort.MatchString(string(s)):
			return nil, fmt.Errorf("%s: no such file; an address begins with http:// or https://", s)
		case len(matches) == 0:
			return nil, err
		}
		roots = matches
	}
	var paths []string
	for _, root := range roots {
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			// WalkDir does not follow a link.
			if root, err = filepath.EvalSymlinks(root); err != nil {
				return nil, err
			}
		} else {
			paths = append(paths, root)
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && isProfile(path) && isFile(path, d) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no profiles are there: their names end in %s", s, strings.Join(suffixes, ", "))
	}
	// Files of a directory that are named before and after its subdirectories.
	slices.SortStableFunc(paths, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	return slices.Compact(paths), nil
}

// Seen has the files that were read, by their absolute paths. Two SOURCEs of a command
// line may have the same file, whose samples must count once.
type Seen map[string]bool

// Again reports whether a profile of the same file was asked about before. What was
// measured anew is never the same.
func (s Seen) Again(p *Profile) bool {
	if strings.Contains(p.Name, "://") {
		return false
	}
	path, err := filepath.Abs(p.Name)
	if err != nil {
		return false
	}
	before := s[path]
	s[path] = true
	return before
}

// ErrSeen says why a profile is left out that Seen knows.
var ErrSeen = errors.New("another SOURCE has it too, and it counts once")

var suffixes = []string{".pprof.gz", ".pprof", ".pb.gz", ".pgo"}

func isProfile(path string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// isFile reports whether there is a file at path, or a link to one. To read a pipe
// could take for ever.
func isFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() // a link to nothing is an error in its turn
}

func readFile(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s: it has more than %d MiB", path, maxFile>>20)
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsed, nil
}
