// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/internal/recordfile"
)

// Run is what a process has left.
type Run struct {
	Process
	// Number is greater than that of the runs before, whatever the clock said.
	Number int

	name string
	err  error // of processFile
}

// File is a file of a run.
type File struct {
	Run   *Run
	Start time.Time
	// Name is that within the directory of the run.
	Name string
	// Type says what is in it; Kind is that of a window.
	Type FileType
	Kind exporter.Kind

	path string // relative to the journal's directory
}

// FileType is what a file has.
type FileType int

// The types of files. KeptSpans and KeptSamples are what outlives others.
const (
	Profile FileType = iota
	Spans
	KeptSamples
	KeptSpans
)

// findEarlier finds the runs of processes that have ended and, if this is a process that
// writes, removes those that have no files any more. A reader finds all. It returns the
// greatest number of a run.
func (j *Journal) findEarlier(writes bool) (last int, err error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		started, number, ok := parseRun(e.Name())
		if !ok || !e.IsDir() {
			continue // not ours
		}
		last = max(last, number)
		j.numbers[e.Name()] = number
		path := filepath.Join(j.dir, e.Name())
		if writes {
			lock, err := atomicfile.TryLock(path)
			if errors.Is(err, atomicfile.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
				continue // the process runs, and bounds its files itself; or another one has removed it
			}
			if err == nil {
				err = errors.Join(atomicfile.Clean(path), atomicfile.Clean(filepath.Join(path, keptDir)), lock.Close())
			}
			if err != nil {
				return 0, err
			}
		}
		found, err := j.scan(e.Name())
		if err != nil {
			return 0, err
		}
		if !found {
			if writes {
				removeEmpty(path)
			}
			continue
		}
		r := &Run{name: e.Name(), Number: number}
		r.Process, r.err = readProcess(path)
		if r.Started.IsZero() {
			r.Started = started
		}
		j.earlier = append(j.earlier, r)
	}
	return last, nil
}

// scan finds the files of a run, and reports whether there are any.
func (j *Journal) scan(run string) (found bool, err error) {
	before := len(j.files.Files())
	for _, dir := range []string{run, filepath.Join(run, keptDir)} {
		if err := j.files.Scan(dir, startOf); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return len(j.files.Files()) > before, nil
}

// startOf returns the time in the name of a file of a run.
func startOf(name string) (time.Time, bool) {
	t, ok := profiledir.StampOf(name)
	return t, ok && (strings.HasSuffix(name, spansSuffix) || strings.HasSuffix(name, profiledir.Suffix))
}

// removeEmpty removes the directory of a run, unless a person has put files there or wants
// to look at the damaged ones.
func removeEmpty(path string) {
	for _, dir := range []string{filepath.Join(path, keptDir), path} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() != processFile && e.Name() != atomicfile.LockName && e.Name() != keptDir
		}) {
			return
		}
	}
	// What cannot be removed is tried again by the next process.
	_ = os.RemoveAll(path)
}

// ErrNoRuns is returned by Read.
var ErrNoRuns = errors.New("no process has left spans or profiles in it")

// Read opens a directory to read all of its runs, those of processes that run too. Nothing
// in it is changed.
func Read(dir string) (*Journal, error) {
	j := newJournal(dir, 0)
	_, err := j.findEarlier(false)
	if err == nil && len(j.earlier) == 0 {
		err = ErrNoRuns
	}
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	return j, nil
}

// Earlier returns the runs that were found, the oldest first.
func (j *Journal) Earlier() []*Run {
	return slices.SortedStableFunc(slices.Values(j.earlier), func(a, b *Run) int { return a.Number - b.Number })
}

// Damaged sets the files aside that say what runs are, where they are damaged. It returns
// why.
func (j *Journal) Damaged() (errs []error) {
	for _, r := range j.earlier {
		if r.err != nil {
			errs = append(errs, j.setAside(filepath.Join(r.name, processFile), r.err))
			r.err = nil
		}
	}
	return errs
}

// Files returns the files of the earlier runs, the newest first.
func (j *Journal) Files() (files []File) {
	runs := make(map[string]*Run)
	for _, r := range j.earlier {
		runs[r.name] = r
	}
	originals := make(map[string]bool)
	for _, f := range j.files.Files() {
		originals[f.Name] = true
	}
	for _, f := range j.files.Files() {
		run := runOf(f.Name)
		if runs[run] == nil {
			continue
		}
		of := File{Run: runs[run], Start: f.Start, Name: filepath.Base(f.Name), path: f.Name}
		parts, _ := profiledir.Parse(f.Name)
		of.Kind = parts.Kind
		switch {
		case strings.HasSuffix(f.Name, keptSuffix):
			of.Type = KeptSpans
		case strings.HasSuffix(f.Name, spansSuffix):
			of.Type = Spans
		case isKept(f.Name):
			of.Type = KeptSamples
			if originals[filepath.Join(run, of.Name)] {
				continue // the process died before it had removed the whole window
			}
		}
		files = append(files, of)
	}
	slices.SortStableFunc(files, func(a, b File) int {
		if a.Run != b.Run {
			return cmp.Or(b.Run.Number-a.Run.Number, strings.Compare(b.Run.name, a.Run.name))
		}
		return b.Start.Compare(a.Start)
	})
	return files
}

// Gone is the error of a file that has made room since Files returned it.
var Gone = fs.ErrNotExist

// ReadSpans reads a file of spans. A damaged one is set aside, as the error says.
func (j *Journal) ReadSpans(f File) (windows []Window, spans []Span, err error) {
	err = j.read(f, func(data []byte) (err error) {
		windows, spans, err = decodeSpans(data)
		return err
	})
	return windows, spans, err
}

// ReadProfile reads the file of a window. A damaged one is set aside, as the error says.
func (j *Journal) ReadProfile(f File) (p *exporter.Profile, err error) {
	err = j.read(f, func(data []byte) error {
		parts, ok := profiledir.Parse(f.Name)
		if !ok {
			return errors.New("its name is not one of a profile")
		}
		of, err := parsed(data)
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
	data, err := os.ReadFile(filepath.Join(j.dir, f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return Gone
	}
	if err != nil {
		j.mu.Lock()
		j.stats.Unreadable++
		j.mu.Unlock()
		return err
	}
	if err := decode(data); err != nil {
		return j.setAside(f.path, err)
	}
	return nil
}

// setAside renames a file, unless this process only reads, and returns the error to report.
func (j *Journal) setAside(name string, cause error) error {
	path := filepath.Join(j.dir, name)
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
	j.files.Forget(name)
	j.stats.Bytes = j.files.Bytes()
	return fmt.Errorf("%s is left out: %w; it was renamed to %s", path, cause, filepath.Base(aside))
}

// parsed returns a gzipped profile. The parser of pprof stops where the profile ends: gzip
// has not compared its checksum by then.
func parsed(data []byte) (*profile.Profile, error) {
	raw, err := unzipped(data, maxProfileBytes)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = p.CheckValid()
	}
	return p, err
}

// maxProfileBytes bounds a profile, unzipped.
const maxProfileBytes = 256 << 20

func unzipped(data []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("it has more than %d MiB", limit>>20)
	}
	return raw, err
}
