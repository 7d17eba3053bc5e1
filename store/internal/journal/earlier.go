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
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// Run is what a process has left.
type Run struct {
	Process
	// Number is greater than the numbers of earlier runs, even if the clock was set back.
	Number int

	name string
	err  error // of processFile
}

// File is a file of a run.
type File struct {
	Run   *Run
	Start time.Time
	// Name is relative to the directory of the run.
	Name string
	// Type is the type of its content, Kind the kind of a window.
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

// findEarlier finds the runs of processes that have ended. A process that writes removes
// runs without files. A reader finds all runs. A run that cannot be read is left out. It
// returns the greatest number of a run.
func (j *Journal) findEarlier(writes bool) (last int, err error) {
	entries, err := files.Entries(j.dir, files.Follow)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		started, number, ok := parseRun(e.Name())
		if !ok {
			continue // not ours
		}
		last = max(last, number)
		path := filepath.Join(j.dir, e.Name())
		if !e.IsDir() {
			j.leftOut(1, fmt.Errorf("%s is left out: it is not a directory", path))
			continue
		}
		j.numbers[e.Name()] = number
		found, err := j.find(e.Name(), started, writes)
		switch {
		case errors.Is(err, atomicfile.ErrLocked) || errors.Is(err, fs.ErrNotExist):
			// The process runs, and bounds its files itself; or another one has removed it.
		case err != nil:
			j.leftOut(1, fmt.Errorf("%s is left out: %w", path, err))
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
	j.leftOut(j.files.Skipped.N, j.files.Skipped.Err())
	return last, nil
}

// leftOut counts and keeps an error for Damaged, unless it is nil.
func (j *Journal) leftOut(n int, err error) {
	if err != nil {
		j.stats.Unreadable += uint64(n)
		j.skipped = append(j.skipped, err)
	}
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
		if writes {
			j.leftOut(1, atomicfile.Clean(filepath.Join(j.dir, dir)))
		}
	}
	return len(j.files.Files()) > before, nil
}

// removeEmpty removes the directory of a run. It stays if there are other files in it or
// a process has just made it.
func removeEmpty(path string) {
	lock, err := atomicfile.TryLock(path)
	if err != nil {
		return
	}
	for _, dir := range []string{filepath.Join(path, keptDir), path} {
		entries, err := files.Entries(dir, files.NoFollow)
		isOther := func(e fs.DirEntry) bool {
			return !slices.Contains([]string{processFile, atomicfile.LockName, keptDir}, e.Name())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(entries, isOther) {
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

// Read opens a directory to read all of its runs, also the runs of processes that have not
// ended. It reads at most maxUnzipped bytes of a file, and changes nothing.
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

// Damaged returns an error for each run that is left out, and for each run without a
// readable description. Damaged descriptions are set aside.
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
func (j *Journal) Files() (all []File) {
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
		all = append(all, of)
	}
	slices.SortStableFunc(all, func(a, b File) int {
		if a.Run != b.Run {
			return cmp.Or(b.Run.Number-a.Run.Number, strings.Compare(b.Run.name, a.Run.name))
		}
		return b.Start.Compare(a.Start)
	})
	return all
}
