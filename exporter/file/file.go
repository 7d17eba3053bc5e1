// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"cmp"
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
	"github.com/spanprof/spanprof/internal/wire"
)

const (
	// defaultMaxBytes is about half a day of CPU and heap windows of 10 s, of 100 kB
	// each.
	defaultMaxBytes = 1 << 30
	defaultMaxAge   = 24 * time.Hour
)

// directory is an exporter to a directory.
type directory struct {
	lock *os.File // keeps other processes out of the directory until Shutdown

	mu       sync.Mutex
	files    rotation
	shutdown bool
}

// New returns an exporter to dir, which it makes if necessary. It is safe for concurrent
// use.
//
// maxBytes bounds the files in dir: the oldest are removed for a new one. 0 means 1 GiB.
// Files with a window older than maxAge are removed when the next is written. 0 means
// 24 h.
//
// New returns an error if no file can be written there or if a bound is negative. If
// another exporter or process uses dir, it waits for a second and then returns an error.
func New(dir string, maxBytes int64, maxAge time.Duration) (exporter.Exporter, error) {
	if maxBytes < 0 || maxAge < 0 {
		return nil, fmt.Errorf("file: negative bound, %d bytes or %v: use 0 for the default", maxBytes, maxAge)
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
	e := &directory{lock: lock, files: rotation{dir: dir, maxBytes: cmp.Or(maxBytes, defaultMaxBytes), maxAge: cmp.Or(maxAge, defaultMaxAge)}}
	skipped, err := e.files.scan()
	if err != nil {
		return nil, fmt.Errorf("file: directory %s: %w", dir, errors.Join(err, lock.Close()))
	}
	if err := skipped.Err(); err != nil {
		otel.Handle(fmt.Errorf("file: directory %s: skipped: %w", dir, err))
	}
	return e, nil
}

// Export writes p to a file of its own, and removes the oldest files if the bounds
// require it. It returns exporter.ErrShutdown after Shutdown.
func (e *directory) Export(_ context.Context, p *exporter.Profile) error {
	if p == nil {
		return errors.New("file: the profile is nil")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.write(p)
	if err == nil || errors.Is(err, exporter.ErrShutdown) {
		return err
	}
	return fmt.Errorf("file: %s profile dropped: %w", p.Kind(), err)
}

func (e *directory) write(p *exporter.Profile) error {
	if e.shutdown {
		return exporter.ErrShutdown
	}
	data, err := p.Pprof()
	if err == nil {
		data, err = wire.Gzipped(data) // names end in .gz
	}
	if err != nil {
		return err
	}
	began := p.Start()
	if began.IsZero() { // a profile without a time
		began = time.Now()
	}
	name, err := e.free(p, began)
	if err != nil {
		return err
	}
	return e.files.write(name, began, data)
}

// free returns a name that no file has.
func (e *directory) free(p *exporter.Profile, start time.Time) (string, error) {
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

// ForceFlush returns nil: Export has written everything. After Shutdown it returns
// exporter.ErrShutdown.
func (e *directory) ForceFlush(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return exporter.ErrShutdown
	}
	return nil
}

// Shutdown makes Export and ForceFlush fail from now on, and releases the directory.
func (e *directory) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return nil
	}
	e.shutdown = true
	return e.lock.Close()
}
