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
//	kept/20261121T130405.123456789Z-shop-cpu.pprof.gz  their samples of a window that made room
//
// A file is there as a whole or not at all, and gzip's checksum tells whether it is what was
// written. A file that is damaged, or of a version that this program does not know, is renamed
// and reported.
//
// journal.go opens and writes, room.go keeps the bound, earlier.go finds and reads what
// earlier runs have left, process.go is what is known of a run, span.go the form of a span.
package journal

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
)

// Journal is the directory of this run. Of its methods only Stats may be called while
// another one runs.
type Journal struct {
	dir, run string   // run is relative to dir
	lock     *os.File // of the run
	process  Process
	earlier  []*Run
	numbers  map[string]int // of the runs, by their directories
	maxBytes int64
	files    *profiledir.Dir
	rank     func(*profile.Sample) int
	closed   bool

	mu    sync.Mutex // guards stats
	stats Stats
}

// Stats are counts of a Journal.
type Stats struct {
	// Written are the files that were written, Failed those that could not be.
	Written, Failed uint64
	// Removed are the files, of earlier runs too, that made room.
	Removed uint64
	// SetAside are the files that were damaged or of an unknown version, Unreadable
	// those that could not be read for another reason.
	SetAside, Unreadable uint64
	// Bytes is the size of all files, but for those of other processes that run now.
	Bytes int64
}

// NoRank is the rank of a sample that is not kept when its window makes room.
const NoRank = 1 << 20

// Open begins a run in dir, which is made if it does not exist. The files of this run and of
// earlier ones take at most maxBytes together; the oldest make room. rank says how much a
// sample is worth that is kept when its window makes room: those of the greatest rank leave
// first. An error names the directory.
func Open(dir string, maxBytes int64, rank func(*profile.Sample) int) (*Journal, error) {
	j, err := open(dir, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	j.rank = rank
	return j, nil
}

func open(dir string, maxBytes int64) (*Journal, error) {
	if dir == "" {
		return nil, errors.New("it has no name: use . for the working directory")
	}
	if err := atomicfile.Prepare(dir); err != nil {
		return nil, err
	}
	j := newJournal(dir, maxBytes)
	last, err := j.findEarlier(true)
	if err != nil {
		return nil, err
	}
	j.process = Process{Started: time.Now().Round(0).UTC(), PID: os.Getpid()}
	// Two processes may start at the same nanosecond.
	j.run = runName(j.process.Started, last+1, rand.Uint32())
	j.numbers[j.run] = last + 1
	path := filepath.Join(dir, j.run)
	if err = os.Mkdir(path, 0o700); err == nil {
		j.lock, err = atomicfile.Lock(path)
	}
	if err == nil {
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

func newJournal(dir string, maxBytes int64) *Journal {
	j := &Journal{dir: dir, maxBytes: maxBytes, numbers: make(map[string]int), files: profiledir.New(dir, maxBytes, 0)}
	j.files.Compare = j.compare
	return j
}

// Profile writes a window, and returns the name of its file within the directory of the
// run.
func (j *Journal) Profile(p *exporter.Profile) (name string, err error) {
	data, err := p.Pprof()
	if err == nil {
		data, err = zipped(data)
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

// Spans writes spans that ended until at, and what was counted in windows. None of both is
// no file.
func (j *Journal) Spans(at time.Time, windows []Window, spans []Span) error {
	if len(spans)+len(windows) == 0 {
		return nil
	}
	return j.writeSpans(at, spansSuffix, windows, spans)
}

// Kept writes all spans that outlive others, for the files that have made room or will. It
// takes the place of those that runs have written of which all was read.
func (j *Journal) Kept(at time.Time, spans []Span, readAll bool) error {
	var old []profiledir.File
	for _, f := range j.files.Files() {
		if strings.HasSuffix(f.Name, keptSuffix) && (readAll || filepath.Dir(f.Name) == j.run) {
			old = append(old, f)
		}
	}
	if err := j.writeSpans(at, keptSuffix, nil, spans); err != nil {
		return err
	}
	var err error
	for _, f := range old {
		err = errors.Join(err, j.files.Remove(f))
	}
	return err
}

func (j *Journal) writeSpans(at time.Time, suffix string, windows []Window, spans []Span) error {
	data, err := encodeSpans(windows, spans)
	for err == nil {
		name := profiledir.Stamp(at) + suffix
		if _, err = os.Lstat(filepath.Join(j.dir, j.run, name)); errors.Is(err, fs.ErrNotExist) {
			err = j.write(name, at, data, resource.Empty())
			break
		}
		at = at.Add(1) // the clock was set back
	}
	j.count(&err)
	return err
}

// write writes a file of the run.
func (j *Journal) write(name string, start time.Time, data []byte, r *resource.Resource) error {
	if j.closed {
		return exporter.ErrShutdown
	}
	if err := j.describe(r); err != nil {
		return err
	}
	if err := j.makeRoom(int64(len(data))); err != nil {
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
}

// Stats returns the counts.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stats
}

// Close lets nothing more in, and leaves the run to the next process.
func (j *Journal) Close() error {
	if j.closed {
		return nil
	}
	j.closed = true
	return j.lock.Close()
}

// zipped returns data as it is if it is gzipped, which the name promises.
func zipped(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	return b.Bytes(), err
}
