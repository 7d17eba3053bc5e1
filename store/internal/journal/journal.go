// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the profiles and spans of a process in a directory, for the process
// that comes after it.
//
// Each run of a process has a directory of its own there, which it locks. In it are
//
//	process.json                                       what the profiles are of
//	20261121T130405.123456789Z-shop-cpu.pprof.gz       a window, in the pprof format
//	20261121T130415.000000000Z-spans.jsonl.gz          spans that ended until then
//
// A file is there as a whole or not at all, and gzip's checksum tells whether it is what was
// written. A file that is damaged, or of a version that this program does not know, is renamed
// and reported.
//
// journal.go opens and writes, earlier.go reads what earlier runs have left, span.go is
// the form of a span.
package journal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
)

const (
	version      = 1
	processFile  = "process.json"
	spansSuffix  = "-spans.jsonl.gz"
	runSeparator = "-run-"
)

// Journal is the directory of this run. It is safe for concurrent use.
type Journal struct {
	dir, run string   // run is relative to dir
	lock     *os.File // of the run
	started  time.Time
	earlier  []*Run

	mu      sync.Mutex
	files   *profiledir.Dir
	service string // of process.json; "" before it is written
	stats   Stats
	closed  bool
}

// Stats are counts of a Journal.
type Stats struct {
	// Written are the files that were written, Dropped those that could not be.
	Written, Dropped uint64
	// Removed are the files, of earlier runs too, that made room.
	Removed uint64
	// Bytes is the size of all files, but for those of other processes that run now.
	Bytes int64
}

// process is what process.json says.
type process struct {
	Version int       `json:"version"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`
	Service string    `json:"service"`
}

// Open begins a run in dir, which is made if it does not exist. The files of this run and of
// earlier ones take at most maxBytes together; the oldest make room. An error names the
// directory.
func Open(dir string, maxBytes int64) (*Journal, error) {
	j, err := open(dir, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	return j, nil
}

func open(dir string, maxBytes int64) (*Journal, error) {
	if dir == "" {
		return nil, errors.New("it has no name: use . for the working directory")
	}
	if err := atomicfile.Prepare(dir); err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, started: time.Now(), files: profiledir.New(dir, maxBytes, 0)}
	if err := j.findEarlier(); err != nil {
		return nil, err
	}
	// Two processes may start at the same nanosecond.
	j.run = fmt.Sprintf("%s%s%08x", profiledir.Stamp(j.started), runSeparator, rand.Uint32())
	path := filepath.Join(dir, j.run)
	err := os.Mkdir(path, 0o700)
	if err == nil {
		j.lock, err = atomicfile.Lock(path)
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// startOf returns the time in the name of a file of a run.
func startOf(name string) (time.Time, bool) {
	t, ok := profiledir.StampOf(name)
	return t, ok && (strings.HasSuffix(name, spansSuffix) || strings.HasSuffix(name, profiledir.Suffix))
}

// Profile writes a window.
func (j *Journal) Profile(p *exporter.Profile) error {
	data, err := p.Pprof()
	if err == nil {
		data, err = zipped(data)
	}
	if err != nil {
		return j.dropped(err)
	}
	service, _ := p.Resource().Set().Value(attribute.Key("service.name"))
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := 0; ; n++ {
		name := filepath.Join(j.run, profiledir.Name(p, p.Start(), n))
		if _, err := os.Lstat(filepath.Join(j.dir, name)); errors.Is(err, fs.ErrNotExist) {
			return j.write(name, p.Start(), data, service.AsString())
		} else if err != nil {
			j.stats.Dropped++
			return err
		}
	}
}

// Spans writes spans that ended until at. None is no file.
func (j *Journal) Spans(at time.Time, service string, spans []Span) error {
	if len(spans) == 0 {
		return nil
	}
	data, err := encodeSpans(spans)
	if err != nil {
		return j.dropped(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(filepath.Join(j.run, profiledir.Stamp(at)+spansSuffix), at, data, service)
}

func (j *Journal) dropped(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Dropped++
	return err
}

// write writes a file of the run; the caller holds j.mu.
func (j *Journal) write(name string, start time.Time, data []byte, service string) error {
	err := exporter.ErrShutdown
	if !j.closed {
		if err = j.describe(service); err == nil {
			err = j.files.Write(name, start, data)
		}
	}
	if err != nil {
		j.stats.Dropped++
		return err
	}
	j.stats.Written++
	return nil
}

// describe writes process.json when the service is known; the caller holds j.mu.
func (j *Journal) describe(service string) error {
	if service == "" || j.service != "" {
		return nil
	}
	data, err := json.Marshal(process{Version: version, Started: j.started, PID: os.Getpid(), Service: service})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(j.dir, j.run), processFile, atomicfile.Process, append(data, '\n')); err != nil {
		return err
	}
	j.service = service
	return nil
}

// Stats returns the counts.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.stats
	s.Removed, s.Bytes = j.files.Removed, j.files.Bytes()
	return s
}

// Close lets nothing more in, and leaves the run to the next process.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
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
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
