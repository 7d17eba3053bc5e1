// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package files reads what is found in directories. Other programs write there too.
// A pipe never blocks it, a device is never opened, and each read has a bound.
//
// Other packages must not call os.Open, os.ReadFile or os.ReadDir for such paths:
// the linter forbids it, and .golangci.yml lists the exceptions with their reasons.
package files

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrRefused is the cause of errors about entries of a wrong type or size.
var ErrRefused = errors.New("refused")

// Links controls what may be at a path.
type Links int

const (
	// Follow accepts links: a ConfigMap consists of them.
	Follow Links = iota
	// NoFollow refuses a link. Directories of our own contain none.
	NoFollow
	// Named also accepts a pipe, because the user named the path.
	Named
)

// maxEntries bounds one directory. A store with a new file every ten seconds has fewer in
// a month.
var maxEntries = 1 << 18 // tests make it less

// Open opens a regular file for reading. It never blocks. The error is a
// *fs.PathError with the cause ErrRefused for anything else.
func Open(path string, links Links) (*os.File, error) { return open(path, os.O_RDONLY, links, 0) }

// Read returns a regular file of at most maxBytes. A larger one is an error with the
// cause ErrRefused.
func Read(path string, links Links, maxBytes int64) ([]byte, error) {
	f, err := open(path, os.O_RDONLY, links, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size, b := info.Size(), bytes.Buffer{}
	if size <= maxBytes {
		b.Grow(int(size) + bytes.MinRead)
		if _, err := b.ReadFrom(io.LimitReader(f, maxBytes+1)); err != nil {
			return nil, err
		}
		size = int64(b.Len())
	}
	switch {
	case size == 0 && !info.Mode().IsRegular():
		return nil, refused(path, "nothing writes to the pipe")
	case size > maxBytes:
		return nil, refused(path, fmt.Sprintf("it has %d bytes or more, and at most %d are read", size, maxBytes))
	}
	return b.Bytes(), nil
}

// Append opens a regular file of our own for appending, and creates it if there is none.
func Append(path string) (*os.File, error) {
	return open(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, NoFollow, 0)
}

// Entries returns the entries of a directory, in no order. More than 262,144 are an error
// with the cause ErrRefused.
func Entries(dir string, links Links) ([]fs.DirEntry, error) {
	f, err := open(dir, os.O_RDONLY, links, fs.ModeDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	entries, err := f.ReadDir(maxEntries + 1)
	if len(entries) > maxEntries {
		err = refused(dir, fmt.Sprintf("it has more than %d entries", maxEntries))
	}
	if err != nil && err != io.EOF { //nolint:errorlint // ReadDir does not wrap it
		return nil, err
	}
	return entries, nil
}

// List returns the regular files of a directory with names that match, in no order. It
// adds other entries with such names to skipped.
func List(dir string, links Links, skipped *Skipped, match func(name string) bool) (list []fs.FileInfo, err error) {
	entries, err := Entries(dir, links)
	for _, e := range entries {
		if !match(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err == nil {
			err = check(filepath.Join(dir, e.Name()), info.Mode(), NoFollow, 0)
		}
		if err == nil {
			list = append(list, info)
		} else if !errors.Is(err, fs.ErrNotExist) {
			skipped.Add(err)
		}
	}
	return list, err
}

// Skipped counts what is not read. Its zero value is ready.
type Skipped struct {
	N     int
	first error
}

// Add counts an error, and ignores nil.
func (s *Skipped) Add(err error) {
	if err == nil {
		return
	}
	if s.N == 0 {
		s.first = err
	}
	s.N++
}

// Err returns one error for all, and nil if there are none.
func (s *Skipped) Err() error {
	if s.N < 2 {
		return s.first
	}
	return fmt.Errorf("%w, and %d more like it", s.first, s.N-1)
}

// open opens what check accepts.
func open(path string, flags int, links Links, want fs.FileMode) (*os.File, error) {
	stat := os.Stat
	if links == NoFollow {
		stat, flags = os.Lstat, flags|noFollow
	}
	info, err := stat(path) // first, because opening a device may have effects
	if err == nil {
		err = check(path, info.Mode(), links, want)
	}
	if err != nil && (flags&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	f, err := os.OpenFile(path, flags|nonBlocking, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil { // it may be another file by now
		err = check(path, info.Mode(), links, want)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var types = map[fs.FileMode]string{
	0: "regular file", fs.ModeDir: "directory", fs.ModeSymlink: "symbolic link",
	fs.ModeNamedPipe: "pipe", fs.ModeSocket: "socket",
}

// check returns an error if the type of a file is not the wanted one.
func check(path string, mode fs.FileMode, links Links, want fs.FileMode) error {
	is := mode.Type()
	if is == want || is == fs.ModeNamedPipe && links == Named {
		return nil
	}
	return refused(path, fmt.Sprintf("it is a %s, want a %s", cmp.Or(types[is], "device"), types[want]))
}

func refused(path, reason string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: %s", ErrRefused, reason)}
}
