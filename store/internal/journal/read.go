// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/internal/recordfile"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
)

// Gone is the error of a file that has made room since Files returned it.
var Gone = fs.ErrNotExist

// ReadSpans reads a file of spans. A damaged one is set aside, and the error has its new
// name. One with an unknown version or too many bytes stays.
func (j *Journal) ReadSpans(f File) (windows []Window, spans []Span, err error) {
	err = j.read(f, func(data []byte) (err error) {
		windows, spans, err = decodeSpans(data)
		return err
	})
	return windows, spans, err
}

// ReadCounts reads the counts of windows in a file of spans, as ReadSpans does.
func (j *Journal) ReadCounts(f File) (windows []Window, err error) {
	err = j.read(f, func(data []byte) (err error) {
		windows, _, err = decodeCounts(data)
		return err
	})
	return windows, err
}

// ReadProfile reads the file of a window, as ReadSpans does.
func (j *Journal) ReadProfile(f File) (p *exporter.Profile, err error) {
	err = j.read(f, func(data []byte) error {
		parts, ok := profiledir.Parse(f.Name)
		if !ok {
			return errors.New("its name is not one of a profile")
		}
		of, err := j.parsed(data)
		if err != nil {
			return err
		}
		p = exporter.NewParsedProfile(exporter.Window{
			Kind: parts.Kind, Start: f.Start, Duration: max(0, time.Duration(of.DurationNanos)), Resource: f.Run.resource(parts.Service),
		}, of)
		return nil
	})
	return p, err
}

func (j *Journal) read(f File, decode func([]byte) error) error {
	data, err := j.load(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Gone
	}
	if err != nil {
		j.unreadable()
		return err
	}
	if err := decode(data); err != nil {
		return j.leaveOut(f.path, err)
	}
	return nil
}

// load reads a file, gzipped. One that does not shrink is larger than its content.
func (j *Journal) load(name string) ([]byte, error) {
	return files.Read(filepath.Join(j.dir, name), files.NoFollow, j.MaxUnzipped+j.MaxUnzipped/1024)
}

func (j *Journal) unreadable() {
	j.mu.Lock()
	j.stats.Unreadable++
	j.mu.Unlock()
}

// SetAside renames a file that does harm, and returns the error to report.
func (j *Journal) SetAside(f File, cause error) error { return j.leaveOut(f.path, cause) }

// errStays is among the causes of files that another program may read.
var errStays = errors.New("it stays as it is")

// leaveOut returns the error to report of a file. It renames a damaged one, unless this
// process only reads.
func (j *Journal) leaveOut(name string, cause error) error {
	path := filepath.Join(j.dir, name)
	if _, ok := errors.AsType[*fs.PathError](cause); ok || errors.Is(cause, errStays) {
		j.unreadable()
		return fmt.Errorf("%s is left out: %w", path, cause)
	}
	if j.lock == nil {
		return fmt.Errorf("%s is left out: %w", path, cause)
	}
	aside, err := recordfile.SetAside(path)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.SetAside++
	if err != nil {
		return fmt.Errorf("%s is left out: %w; it could not be renamed: %w", path, cause, err)
	}
	asideName := name + strings.TrimPrefix(aside, path)
	j.files.Forget(name)
	j.files.Forget(asideName) // another one of that name was replaced
	if info, err := os.Stat(aside); err == nil {
		start, ok := profiledir.StampOf(name)
		if !ok {
			start, _, _ = parseRun(runOf(name))
		}
		j.files.Add(profiledir.File{Name: asideName, Start: start, Size: info.Size()})
	}
	j.stats.Bytes = j.files.Bytes()
	return fmt.Errorf("%s is left out: %w; it was renamed to %s", path, cause, filepath.Base(aside))
}

// parsed returns a gzipped profile.
func (j *Journal) parsed(data []byte) (*profile.Profile, error) {
	p, err := untrusted.Profile(data, j.MaxUnzipped)
	return p, stays(err)
}

// minUnzipped and maxUnzipped bound MaxUnzipped. Any process reads what has minUnzipped.
const (
	minUnzipped = 8 << 20
	maxUnzipped = 128 << 20
)

func unzipped(data []byte, limit int64) ([]byte, error) {
	raw, err := wire.Inflate(data, limit)
	return raw, stays(err)
}

// stays returns the error of a file that other bounds may let in.
func stays(err error) error {
	if errors.Is(err, wire.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", err, errStays)
	}
	return err
}

// errVersion is the error of a file that another program has written.
func errVersion(format string, is int, want string) error {
	return fmt.Errorf("it is %q version %d, and this program reads %q version %d: %w", format, is, want, version, errStays)
}
