// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
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
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/profiledir"
	"github.com/spanprof/spanprof/internal/recordfile"
)

// Run is what an earlier process has left.
type Run struct {
	// Started is when the process opened the directory.
	Started time.Time

	dir     string // the journal's
	name    string
	service string
}

// findEarlier finds the runs of processes that have ended, and removes those that have no
// files any more.
func (j *Journal) findEarlier() error {
	entries, err := os.ReadDir(j.dir) // by name: by time
	if err != nil {
		return err
	}
	for _, e := range entries {
		started, ok := profiledir.StampOf(e.Name())
		if !ok || !e.IsDir() || !strings.Contains(e.Name(), runSeparator) {
			continue // not ours
		}
		path := filepath.Join(j.dir, e.Name())
		lock, err := atomicfile.TryLock(path)
		if errors.Is(err, atomicfile.ErrLocked) {
			continue // the process runs, and bounds its files itself
		}
		if err != nil {
			return err
		}
		before := len(j.files.Files())
		err = j.files.Scan(e.Name(), startOf)
		if err = errors.Join(err, lock.Close()); err != nil {
			return err
		}
		if len(j.files.Files()) == before {
			removeEmpty(path)
			continue
		}
		j.earlier = append(j.earlier, &Run{Started: started, dir: j.dir, name: e.Name(), service: serviceIn(path)})
	}
	return nil
}

// removeEmpty removes the directory of a run, unless a person has put files there or wants
// to look at the damaged ones.
func removeEmpty(path string) {
	entries, err := os.ReadDir(path)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != processFile && e.Name() != atomicfile.LockName
	}) {
		return
	}
	// What cannot be removed is tried again by the next process.
	_ = os.RemoveAll(path)
}

// serviceIn returns what process.json says, "" where it says nothing.
func serviceIn(path string) string {
	data, err := os.ReadFile(filepath.Join(path, processFile))
	if err != nil {
		return ""
	}
	var p process
	if json.Unmarshal(data, &p) != nil {
		return ""
	}
	return p.Service
}

// Earlier returns the runs of processes that had ended when Open was called, oldest first.
func (j *Journal) Earlier() []*Run { return j.earlier }

// Reader takes what Read reads.
type Reader struct {
	// Profile takes a window, Span a span. They return false to end the reading.
	Profile func(*exporter.Profile) bool
	Span    func(Span) bool
	// Damaged hears of files that were set aside, and of those that could not be read.
	Damaged func(error)
}

// Read reads what earlier runs have left, newest first.
func (j *Journal) Read(to Reader) {
	runs := map[string]*Run{}
	for _, r := range j.earlier {
		runs[r.name] = r
	}
	j.mu.Lock()
	files := slices.Clone(j.files.Files())
	j.mu.Unlock()
	for _, f := range slices.Backward(files) {
		r := runs[filepath.Dir(f.Name)]
		if r == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(j.dir, f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has made room
		}
		more := true
		if err == nil {
			more, err = r.read(f, data, to)
		}
		if err != nil {
			to.Damaged(j.setAside(f.Name, err))
		}
		if !more {
			return
		}
	}
}

func (j *Journal) setAside(name string, cause error) error {
	aside, err := recordfile.SetAside(filepath.Join(j.dir, name))
	if err != nil {
		return fmt.Errorf("%s: %w; it stays: %w", filepath.Join(j.dir, name), cause, err)
	}
	j.mu.Lock()
	j.files.Forget(name)
	j.mu.Unlock()
	return fmt.Errorf("%s: %w; it was renamed to %s", filepath.Join(j.dir, name), cause, filepath.Base(aside))
}

func (r *Run) read(f profiledir.File, data []byte, to Reader) (more bool, err error) {
	more = true
	if strings.HasSuffix(f.Name, spansSuffix) {
		return more, decodeSpans(data, func(s Span) { more = more && to.Span(s) })
	}
	parts, ok := profiledir.Parse(f.Name)
	if !ok {
		return true, errors.New("its name is not one of a profile")
	}
	// The parser of pprof stops where the profile ends: gzip has not compared its
	// checksum by then.
	raw, err := unzipped(data)
	if err != nil {
		return true, err
	}
	parsed, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = parsed.CheckValid()
	}
	if err != nil {
		return true, err
	}
	w := exporter.Window{Kind: parts.Kind, Start: f.Start, Duration: time.Duration(parsed.DurationNanos)}
	if service := r.service; service != "" {
		w.Resource = resource.NewSchemaless(attribute.String("service.name", service))
	}
	return to.Profile(exporter.NewParsedProfile(w, parsed)), nil
}

// maxProfileBytes bounds a profile, unzipped.
const maxProfileBytes = 256 << 20

func unzipped(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxProfileBytes+1))
	if err == nil && len(raw) > maxProfileBytes {
		err = fmt.Errorf("it has more than %d MiB", maxProfileBytes>>20)
	}
	return raw, err
}
