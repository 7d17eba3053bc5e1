// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the profiles and spans of a process in a directory, for the process
// that comes after it.
//
// Each run of a process has a directory of its own there, which it locks. In it are
//
//	process.json.gz                                    the process and its services
//	20261121T130405.123456789Z-shop-cpu.pprof.gz       a window, in the pprof format
//	20261121T130415.000000000Z-spans.jsonl.gz          spans that ended until then
//	20261121T130415.000000000Z-kept-spans.jsonl.gz     all spans that outlive others then
//	kept/20261121T130405.123456789Z-shop-cpu.pprof.gz  their samples of a window that was removed
//
// A file is there as a whole or not at all, and gzip's checksum finds damage. A damaged file
// is renamed and reported. A file of an unknown version or beyond the bounds is reported and
// keeps its name: another program may read it. Both are removed when they are among the oldest,
// as all files are.
//
// journal.go opens and writes. kept.go writes the spans that outlive others. room.go keeps
// the bound. earlier.go finds what earlier runs have left, and read.go reads it. process.go
// describes a run. window.go and span.go are the forms of what is in the files.
package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
)

const (
	version      = 1
	processFile  = "process.json.gz"
	spansSuffix  = "-spans.jsonl.gz"
	keptSuffix   = "-kept" + spansSuffix
	keptDir      = "kept"
	runSeparator = "-run-"

	// startBytes is more than the directory of a run and its first files take on the disk.
	startBytes = 64 << 10
)

// Journal is the directory of this run. Of its methods only Stats may be called while
// another one runs.
type Journal struct {
	dir, run string   // run is relative to dir
	lock     *os.File // of the run
	process  Process
	earlier  []*Run
	skipped  []error        // why runs are left out
	numbers  map[string]int // of the runs, by their directories
	taken    map[string]bool
	files    *profiledir.Dir
	closed   bool
	Config

	mu    sync.Mutex // guards stats
	stats Stats
}

// Stats are counts of a Journal.
type Stats struct {
	// Written are the files that were written, Failed those that could not be.
	Written, Failed uint64
	// Removed are the files, of earlier runs too, that were removed for newer ones.
	Removed uint64
	// Stuck are the oldest files that cannot be removed.
	Stuck int
	// SetAside are the files that were damaged, Unreadable the files and runs that could
	// not be read for another reason: of an unknown version or another user, say.
	SetAside, Unreadable uint64
	// KeptLeft is how many spans the last Kept had no room for.
	KeptLeft int
	// Bytes is the size of all files, without the files of other running processes.
	Bytes int64
}

// Config bounds what a Journal writes and reads.
type Config struct {
	// MaxBytes bounds the files of this run and of earlier ones together: the oldest are
	// removed. Each other running process has a bound of its own.
	MaxBytes int64
	// MaxUnzipped bounds what is in a file, between 8 and 128 MiB. What has more is not
	// written, and stays unread.
	MaxUnzipped int64
	// Rank returns the rank of a sample that is kept when its window is removed. The
	// samples of the greatest rank are removed first. nil keeps none.
	Rank func(*profile.Sample) int
}

// NoRank is the rank of a sample that is removed with its window.
const NoRank = 1 << 20

// Open begins a run in dir, which is made if it does not exist. An error names the
// directory.
func Open(dir string, c Config) (*Journal, error) {
	j, err := open(dir, c)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	return j, nil
}

func open(dir string, c Config) (*Journal, error) {
	if dir == "" {
		return nil, errors.New("it has no name: use . for the working directory")
	}
	// On a full disk old files are removed below.
	unwritable := atomicfile.Prepare(dir)
	if unwritable != nil && !atomicfile.DiskFull(unwritable) {
		return nil, unwritable
	}
	j := newJournal(dir, c)
	last, err := j.findEarlier(true)
	if err != nil {
		return nil, cmp.Or(unwritable, err)
	}
	j.process = Process{Started: time.Now().Round(0).UTC(), PID: os.Getpid()}
	if err = j.files.WithRoom(startBytes, func() error { return j.begin(last + 1) }); err == nil {
		err = j.writeProcess(j.process)
	}
	if err != nil {
		if j.lock != nil {
			err = errors.Join(err, j.lock.Close())
		}
		return nil, err
	}
	j.count(nil)
	return j, nil
}

// begin makes the directory of the run and locks it.
func (j *Journal) begin(number int) (err error) {
	// A process that starts at the same time may remove it before it is locked.
	const attempts = 10
	for range attempts {
		// Two processes may start at the same nanosecond.
		j.run = runName(j.process.Started, number, rand.Uint32())
		path := filepath.Join(j.dir, j.run)
		if err = os.Mkdir(path, 0o700); err != nil {
			return err
		}
		if j.lock, err = atomicfile.Lock(path); err == nil {
			j.numbers[j.run] = number
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, atomicfile.ErrLocked) {
			_ = os.Remove(path) // or the next process does
			break
		}
	}
	return err
}

func newJournal(dir string, c Config) *Journal {
	c.MaxUnzipped = min(max(c.MaxUnzipped, minUnzipped), maxUnzipped)
	j := &Journal{
		dir: dir, Config: c, numbers: make(map[string]int), taken: make(map[string]bool),
		files: profiledir.New(dir, c.MaxBytes, 0),
	}
	j.files.Class, j.files.Compare = classOf, j.compare
	return j
}

// Profile writes a window, and returns the name of its file within the directory of the
// run.
func (j *Journal) Profile(p *exporter.Profile) (name string, err error) {
	data, n, err := encoded(p, j.MaxUnzipped)
	if err == nil && n > j.MaxUnzipped {
		err = fmt.Errorf("a %s profile has more than %d bytes, unzipped, which is what the next process would read at most: raise WithMaxBytes", p.Kind(), j.MaxUnzipped)
	}
	for n := 0; err == nil; n++ {
		name = profiledir.Name(p, p.Start(), n)
		if _, err = os.Lstat(filepath.Join(j.dir, j.run, name)); errors.Is(err, fs.ErrNotExist) {
			err = j.write(name, p.Start(), data, p.Resource())
			break
		}
	}
	j.count(&err)
	return name, err
}

// Spans writes spans that ended until at, and what was counted in windows. Without
// both there is no file, and many need more than one. After an error it returns the windows
// with counts that were not written, in parts.
func (j *Journal) Spans(at time.Time, windows []Window, spans []Span) (left []Window, err error) {
	windows = small(windows)
	for len(windows)+len(spans) > 0 {
		data, nWindows, nSpans, err := encodeSpans(windows, spans)
		if at, err = j.writeAt(at, spansSuffix, data, err); err != nil {
			return windows, err
		}
		if nWindows > 0 {
			last := windows[nWindows-1].File
			for i := nWindows; i < len(windows) && windows[i].File == last; i++ {
				windows[i].Begun = true
			}
		}
		windows, spans = windows[nWindows:], spans[nSpans:]
	}
	return nil, nil
}

// writeAt writes a file of spans, unless err is an error, and counts it. It returns the
// time of the next file.
func (j *Journal) writeAt(at time.Time, suffix string, data []byte, err error) (next time.Time, _ error) {
	for ; err == nil; at = at.Add(1) { // there are many, or the clock was set back
		name := profiledir.Stamp(at) + suffix
		if _, err = os.Lstat(filepath.Join(j.dir, j.run, name)); errors.Is(err, fs.ErrNotExist) {
			err = j.write(name, at, data, resource.Empty())
			break
		}
	}
	j.count(&err)
	return at, err
}

// write writes a file of the run.
func (j *Journal) write(name string, start time.Time, data []byte, r *resource.Resource) error {
	if j.closed {
		return exporter.ErrShutdown
	}
	if err := j.describe(r); err != nil {
		return err
	}
	if err := j.makeRoom(int64(len(data)), classOf(name)); err != nil {
		return err
	}
	return j.files.Write(filepath.Join(j.run, name), start, data)
}

// count counts a file that was written or not, unless err is nil, and takes over the other
// counts.
func (j *Journal) count(err *error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil:
	case *err == nil:
		j.stats.Written++
	default:
		j.stats.Failed++
	}
	j.stats.Removed, j.stats.Bytes = j.files.Removed, j.files.Bytes()
	j.stats.Stuck, _ = j.files.Stuck()
}

// Stats returns the counts.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stats
}

// Stuck returns how many of the oldest files cannot be removed, and the last error. The
// next oldest are removed in their place.
func (j *Journal) Stuck() (n int, err error) { return j.files.Stuck() }

// Close lets nothing more in, and leaves the run to the next process.
func (j *Journal) Close() error {
	if j.closed {
		return nil
	}
	j.closed = true
	return j.lock.Close()
}
