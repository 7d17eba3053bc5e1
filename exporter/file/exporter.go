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
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
)

var _ exporter.Exporter = (*Exporter)(nil)

// Exporter writes profiles to a directory. It is safe for concurrent use.
type Exporter struct {
	lock *os.File // keeps other processes out of the directory until Shutdown

	mu               sync.Mutex
	files            rotation
	written, dropped uint64
	shutdown         bool
}

// New returns an Exporter to dir, which is made if it does not exist. It returns
// an error if no file can be written there or if an option makes no sense. If another
// Exporter or process uses dir, it waits for a second and then returns an error.
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
	e := &Exporter{lock: lock, files: rotation{dir: dir, maxBytes: c.maxBytes, maxAge: c.maxAge}}
	skipped, err := e.files.scan()
	if err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, errors.Join(err, lock.Close()))
	}
	if err := skipped.Err(); err != nil {
		otel.Handle(fmt.Errorf("file: directory %s: skipped: %w", dir, err))
	}
	return e, nil
}

// Export writes p to a file of its own. It removes the oldest files if the bounds
// require it. It returns an error if that fails, which counts
// p as dropped, and exporter.ErrShutdown after Shutdown.
func (e *Exporter) Export(_ context.Context, p *exporter.Profile) error {
	if p == nil {
		return errors.New("file: the profile is nil")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.write(p)
	if err == nil {
		e.written++
		return nil
	}
	e.dropped++
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
	began := p.Start()
	if began.IsZero() { // a user's profile without a time
		began = time.Now()
	}
	name, err := e.free(p, began)
	if err != nil {
		return err
	}
	return e.files.write(name, began, data)
}

// free returns a name that no file has.
func (e *Exporter) free(p *exporter.Profile, start time.Time) (string, error) {
	for n := 0; ; n++ {
		name := profiledir.Name(p, start, n)
		switch _, err := os.Lstat(filepath.Join(e.files.dir, name)); {
		case errors.Is(err, os.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
	}
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
	return Stats{
		Written:    e.written,
		Dropped:    e.dropped,
		Removed:    e.files.removed,
		NotRemoved: e.files.notRemoved,
		Files:      len(e.files.files),
		Bytes:      e.files.bytes,
	}
}
