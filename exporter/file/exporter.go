// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
)

var _ exporter.Exporter = (*Exporter)(nil)

// Exporter writes profiles to a directory. It is safe for concurrent use.
type Exporter struct {
	dir    string
	config config
	lock   *os.File // keeps other processes out of dir until Shutdown

	mu       sync.Mutex
	files    []window // oldest first
	stats    Stats    // Files is not kept here
	shutdown bool
}

// New returns an Exporter to dir, which is made if it does not exist. It returns
// an error if no file can be written there, if another Exporter or process uses it
// and goes on doing so for a second, or if an option makes no sense.
func New(dir string, opts ...Option) (*Exporter, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if dir == "" {
		return nil, errors.New("file: the directory has no name: use . for the working directory")
	}
	if err := atomicfile.Prepare(dir); err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, err)
	}
	lock, err := atomicfile.Lock(dir)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, fmt.Errorf("file: directory %s: %w: name another one for each process, by its host's name for example", dir, atomicfile.ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, err)
	}
	e := &Exporter{dir: dir, config: c, lock: lock}
	if e.files, err = windows(dir); err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, errors.Join(err, lock.Close()))
	}
	for _, w := range e.files {
		e.stats.Bytes += w.size
	}
	return e, nil
}

// Export writes p to a file of its own, after it has removed the files for which
// the bounds have no room then. It returns an error if that fails, which counts
// p as dropped, and exporter.ErrShutdown after Shutdown.
func (e *Exporter) Export(_ context.Context, p *exporter.Profile) error {
	if p == nil {
		return errors.New("file: the profile is nil")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.write(p)
	if err == nil {
		e.stats.Written++
		return nil
	}
	e.stats.Dropped++
	if errors.Is(err, exporter.ErrShutdown) {
		return err
	}
	return fmt.Errorf("file: %s profile dropped: %w", p.Kind(), err)
}

func (e *Exporter) write(p *exporter.Profile) error {
	if e.shutdown {
		return exporter.ErrShutdown
	}
	data, err := p.Pprof()
	if err == nil {
		data, err = zipped(data)
	}
	if err != nil {
		return err
	}
	n := int64(len(data))
	if n > e.config.maxBytes {
		return fmt.Errorf("its %d bytes are more than all files may have: see WithMaxBytes", n)
	}
	if err := e.rotate(n); err != nil {
		return err
	}
	w := window{start: p.Start(), size: n}
	if w.start.IsZero() { // a user's profile without a time
		w.start = time.Now()
	}
	if w.name, err = e.free(p, w.start); err != nil {
		return err
	}
	for {
		err := atomicfile.Write(e.dir, w.name, atomicfile.Process, data)
		if err == nil {
			break
		}
		if !atomicfile.DiskFull(err) || !e.removeOldest() {
			return err
		}
	}
	i, _ := slices.BinarySearchFunc(e.files, w, func(a, b window) int { return a.start.Compare(b.start) })
	e.files = slices.Insert(e.files, i, w)
	e.stats.Bytes += n
	return nil
}

// free returns a name that no file has.
func (e *Exporter) free(p *exporter.Profile, start time.Time) (string, error) {
	for n := 0; ; n++ {
		name := nameOf(p, start, n)
		switch _, err := os.Lstat(filepath.Join(e.dir, name)); {
		case errors.Is(err, os.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
	}
}

// rotate removes the oldest files until n bytes more are within the bounds. A
// file that cannot be removed, as where somebody has it open on Windows, is left
// to later; the next ones go for it.
func (e *Exporter) rotate(n int64) error {
	oldest := time.Now().Add(-e.config.maxAge)
	var stuck error
	e.files = slices.DeleteFunc(e.files, func(w window) bool {
		if e.stats.Bytes+n <= e.config.maxBytes && !w.start.Before(oldest) {
			return false
		}
		err := e.remove(w)
		if err != nil {
			stuck = err
		}
		return err == nil
	})
	if e.stats.Bytes+n > e.config.maxBytes {
		return fmt.Errorf("make room: %w", stuck)
	}
	return nil
}

// removeOldest makes room on a full disk, and reports whether there was a file to
// remove; the caller holds e.mu. The newest window is worth more than the oldest.
func (e *Exporter) removeOldest() bool {
	for i, w := range e.files {
		if e.remove(w) == nil {
			e.files = slices.Delete(e.files, i, i+1)
			return true
		}
	}
	return false
}

// remove removes a file; the caller holds e.mu.
func (e *Exporter) remove(w window) error {
	if err := os.Remove(filepath.Join(e.dir, w.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.stats.NotRemoved++
		return err
	}
	e.stats.Removed++
	e.stats.Bytes -= w.size
	return nil
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

// ForceFlush returns nil: what Export took is written. After Shutdown it returns
// exporter.ErrShutdown.
func (e *Exporter) ForceFlush(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return exporter.ErrShutdown
	}
	return nil
}

// Shutdown makes Export and ForceFlush fail from now on, and leaves the directory to
// others.
func (e *Exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return nil
	}
	e.shutdown = true
	return e.lock.Close()
}

// Stats returns the counts.
func (e *Exporter) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Files = len(e.files)
	return s
}
