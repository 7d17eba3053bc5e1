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

	mu       sync.Mutex
	files    []window // oldest first
	stats    Stats    // Files is not kept here
	shutdown bool
}

// New returns an Exporter to dir, which is made if it does not exist. It returns
// an error if no file can be written there or an option makes no sense.
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
	e := &Exporter{dir: dir, config: c}
	if e.files, err = windows(dir); err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, err)
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
	if err := atomicfile.Write(e.dir, w.name, data); err != nil {
		return err
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
		if err := os.Remove(filepath.Join(e.dir, w.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			e.stats.NotRemoved++
			stuck = err
			return false
		}
		e.stats.Removed++
		e.stats.Bytes -= w.size
		return true
	})
	if e.stats.Bytes+n > e.config.maxBytes {
		return fmt.Errorf("make room: %w", stuck)
	}
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

// Shutdown makes Export and ForceFlush fail from now on. It returns nil.
func (e *Exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shutdown = true
	return nil
}

// Stats returns the counts.
func (e *Exporter) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Files = len(e.files)
	return s
}
