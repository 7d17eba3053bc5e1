// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
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
// writes, removes those that have no files any more. A reader finds all. A run that cannot be
// read is left out. It returns the greatest number of a run.
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
		found, err := j.find(e.Name(), started, writes)
		switch {
		case errors.Is(err, atomicfile.ErrLocked) || errors.Is(err, fs.ErrNotExist):
			// The process runs, and bounds its files itself; or another one has removed it.
		case err != nil:
			j.stats.Unreadable++
			j.skipped = append(j.skipped, fmt.Errorf("%s is left out: %w", path, err))
		case found:
			r := &Run{name: e.Name(), Number: number}
			r.Process, r.err = readProcess(path)
			if r.Started.IsZero() {
				r.Started = started
			}
			j.earlier = append(j.earlier, r)
		case writes:
			removeEmpty(path)
		}
	}
	return last, nil
}

// find finds the files of a run, and reports whether there are any. Processes that start at
// the same time share its lock, so that each finds them.
func (j *Journal) find(run string, started time.Time, writes bool) (found bool, err error) {
	dirs := []string{run, filepath.Join(run, keptDir)}
	if writes {
		lock, err := atomicfile.TryShare(filepath.Join(j.dir, run))
		if err != nil {
			return false, err
		}
		defer func() { _ = lock.Close() }()
		for _, dir := range dirs {
			if err := atomicfile.Clean(filepath.Join(j.dir, dir)); err != nil {
				return false, err
			}
		}
	}
	// All files with a time count, also those that were set aside or are of a later version.
	start := func(name string) (time.Time, bool) {
		if strings.HasPrefix(name, processFile+".") {
			return started, true
		}
		return profiledir.StampOf(name)
	}
	before := len(j.files.Files())
	for i, dir := range dirs {
		if err := j.files.Scan(dir, start); err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return false, err
		}
	}
	return len(j.files.Files()) > before, nil
}

// removeEmpty removes the directory of a run, unless a person has put files there or a
// process has just made it.
func removeEmpty(path string) {
	lock, err := atomicfile.TryLock(path)
	if err != nil {
		return
	}
	for _, dir := range []string{filepath.Join(path, keptDir), path} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() != processFile && e.Name() != atomicfile.LockName && e.Name() != keptDir
		}) {
			_ = lock.Close()
			return
		}
	}
	// What cannot be removed is tried again by the next process.
	_ = os.Remove(filepath.Join(path, keptDir))
	_ = os.Remove(filepath.Join(path, processFile))
	_ = atomicfile.RemoveLocked(path, lock)
}

// ErrNoRuns is returned by Read.
var ErrNoRuns = errors.New("no process has left spans or profiles in it")

// Read opens a directory to read all of its runs, those of processes that run too, with at
// most maxUnzipped bytes in a file. Nothing in it is changed.
func Read(dir string, maxUnzipped int64) (*Journal, error) {
	j := newJournal(dir, Config{MaxUnzipped: maxUnzipped})
	_, err := j.findEarlier(false)
	if err == nil && len(j.earlier) == 0 {
		if err = errors.Join(j.skipped...); err == nil {
			err = ErrNoRuns
		}
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

// Damaged returns why runs are left out, and why it is not known what others are. Damaged
// files that say so are set aside.
func (j *Journal) Damaged() (errs []error) {
	errs, j.skipped = j.skipped, nil
	for _, r := range j.earlier {
		if r.err != nil {
			errs = append(errs, j.leaveOut(filepath.Join(r.name, processFile), r.err))
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
		parts, isProfile := profiledir.Parse(f.Name)
		of.Kind = parts.Kind
		switch {
		case strings.HasSuffix(f.Name, keptSuffix):
			of.Type = KeptSpans
		case strings.HasSuffix(f.Name, spansSuffix):
			of.Type = Spans
		case !isProfile:
			continue // it was set aside, or is of a later version
		case classOf(f.Name) == keptSamples:
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
