// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
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

// snapshot is a profile that counts since its process began.
type snapshot struct {
	path   string
	parsed *profile.Profile
	// used says that a window ends at it.
	used bool
}

// directory is one directory while it is read.
type directory struct {
	want      Want
	failed    func(error) error
	each      func(*Profile) error
	recording *Recording // nil if there is none
	// replica is the run that the recording is of: the directory in which the first
	// recording of it is.
	replica string
	last    map[exporter.Kind]snapshot
	// run is that of the newest profile that says which it is of.
	run string
}

// read reads one of the files; only says that it is all that was asked for.
func (d *directory) read(path string, only bool) error {
	if kind := kindOfName(path); kind != "" && !only && !d.wants(kind) {
		return nil
	}
	parsed, err := readFile(path)
	if err != nil {
		return d.failed(err)
	}
	kind := kindOf(parsed, path)
	if !d.wants(kind) {
		if only {
			return d.failed(fmt.Errorf("%s: a %s profile, want %v", path, kind, d.want.Kinds))
		}
		return nil
	}
	if d.recording == nil || !slices.Contains(d.recording.Cumulative, kind) {
		return d.give(path, kind, parsed)
	}
	before, ok := d.last[kind]
	d.last[kind] = snapshot{path: path, parsed: parsed, used: ok}
	if !ok {
		return nil
	}
	delta, err := Delta(before.parsed, parsed)
	if err != nil {
		return d.failed(fmt.Errorf("%s: its difference to %s: %w", path, filepath.Base(before.path), err))
	}
	return d.give(path, kind, delta)
}

// end gives what a single profile tells that counts since the process began:
// the live memory.
func (d *directory) end() error {
	if s, ok := d.last[exporter.KindHeap]; ok && !s.used {
		return d.give(s.path, exporter.KindHeap, live(s.parsed))
	}
	return nil
}

func (d *directory) wants(kind exporter.Kind) bool {
	return len(d.want.Kinds) == 0 || slices.Contains(d.want.Kinds, kind)
}

func (d *directory) give(path string, kind exporter.Kind, parsed *profile.Profile) error {
	w := windowOf(kind, parsed)
	p := &Profile{Name: path}
	if d.recording != nil {
		w.Resource = d.recording.Attributes()
		p.Replica = d.replica
	} else {
		if service := serviceOfName(path); service != "" {
			w.Resource = resource.NewSchemaless(attribute.String("service.name", service))
		}
		if start := startOfName(path); Cumulative(kind) && w.Duration == 0 && w.Start.After(start) && !start.IsZero() {
			// Profiles of this project that are differences: pprof has their end.
			w.Start, w.Duration = start, w.Start.Sub(start)
		}
		p.Replica = d.runOf(path, parsed)
	}
	p.Profile = exporter.NewParsedProfile(w, parsed)
	if err := d.each(p); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// runOf names the run that a profile of a directory without description is of.
// The file exporter goes on in a directory after a restart. Its profiles of wall
// time have no mappings, and are of the run before them.
func (d *directory) runOf(path string, p *profile.Profile) string {
	run := Run(p)
	if run == "" && IsRecorded(path) {
		run = d.run
	}
	if run == "" {
		return ""
	}
	d.run = run
	return filepath.Dir(path) + " " + run
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
	parsed, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsed, nil
}

// nameParts are what exporter/file puts into a file's name.
type nameParts struct {
	start         time.Time
	service, kind string
}

// partsOfName returns the parts of a name that has the form.
func partsOfName(path string) (parts nameParts, ok bool) {
	stamp, rest, _ := strings.Cut(filepath.Base(path), "-")
	start, err := time.Parse("20060102T150405.000000000Z", stamp)
	rest, ok = strings.CutSuffix(rest, ".pprof.gz")
	i := strings.LastIndexByte(rest, '-')
	if err != nil || !ok || i < 0 {
		return nameParts{}, false
	}
	return nameParts{start: start, service: rest[:i], kind: rest[i+1:]}, true
}

// IsRecorded reports whether a file has a name that exporter/file gives.
func IsRecorded(name string) bool {
	_, ok := partsOfName(name)
	return ok
}

// kindOfName returns the kind in the name of a file of exporter/file; empty if
// the name is not of that form.
func kindOfName(path string) exporter.Kind {
	parts, _ := partsOfName(path)
	return exporter.Kind(parts.kind)
}

// serviceOfName returns the service in such a name, empty where there was none.
func serviceOfName(path string) string {
	parts, _ := partsOfName(path)
	if parts.service == "unknown_service" {
		return ""
	}
	return parts.service
}

// startOfName returns the time in such a name; zero if the name is not of that
// form.
func startOfName(path string) time.Time {
	parts, _ := partsOfName(path)
	return parts.start
}
