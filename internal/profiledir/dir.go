// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiledir keeps profiles in files: how the files are named, and how many bytes
// they may take together.
package profiledir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// Dir is a directory whose files are bounded together. Its methods must not be called
// at the same time.
type Dir struct {
	path     string
	maxBytes int64
	maxAge   time.Duration
	files    []File // those that make room first at first
	bytes    int64

	// Compare says which of two files makes room first; nil means the one of the earlier
	// start. It is set before there are files.
	Compare func(a, b File) int

	// Removed is how many files were removed, NotRemoved how often one could not be.
	Removed, NotRemoved uint64
}

// File is a file of a Dir.
type File struct {
	// Name is relative to the directory, and may be in a subdirectory.
	Name  string
	Start time.Time
	Size  int64
}

// New returns a Dir without files: Scan finds those that are there. A maxAge of 0 keeps
// files of any age.
func New(path string, maxBytes int64, maxAge time.Duration) *Dir {
	return &Dir{path: path, maxBytes: maxBytes, maxAge: maxAge}
}

// Scan adds the files of a subdirectory that start knows: those whose names tell a time.
func (d *Dir) Scan(sub string, start func(name string) (time.Time, bool)) error {
	entries, err := os.ReadDir(filepath.Join(d.path, sub))
	if err != nil {
		return err
	}
	for _, e := range entries {
		t, ok := start(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		d.add(File{Name: filepath.Join(sub, e.Name()), Start: t, Size: info.Size()})
	}
	return nil
}

func (d *Dir) add(f File) {
	i, _ := slices.BinarySearchFunc(d.files, f, func(a, b File) int {
		c := a.Start.Compare(b.Start)
		if d.Compare != nil {
			c = d.Compare(a, b)
		}
		if c != 0 {
			return c
		}
		return -1 // behind those of the same time
	})
	d.files = slices.Insert(d.files, i, f)
	d.bytes += f.Size
}

// Files returns the files, those that make room first at first. They must not be changed.
func (d *Dir) Files() []File { return d.files }

// Bytes returns the size of all files.
func (d *Dir) Bytes() int64 { return d.bytes }

// TooLargeError says that a file does not fit though all others were removed.
type TooLargeError struct{ Bytes, MaxBytes int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("its %d bytes are more than the %d that all files may have", e.Bytes, e.MaxBytes)
}

// Write makes a file as a whole or not at all. The oldest files are removed where they are
// too many or too old, and where the disk is full: the newest is worth more than they are. A
// file that cannot be removed, as where somebody has it open on Windows, is left to later;
// the next ones go for it.
func (d *Dir) Write(name string, start time.Time, data []byte) error {
	n := int64(len(data))
	if n > d.maxBytes {
		return &TooLargeError{n, d.maxBytes}
	}
	if err := d.makeRoom(n); err != nil {
		return err
	}
	sub, base := filepath.Split(name)
	for {
		err := atomicfile.Write(filepath.Join(d.path, sub), base, atomicfile.Process, data)
		if err == nil {
			break
		}
		if !atomicfile.DiskFull(err) || !d.removeOldest() {
			return err
		}
	}
	d.add(File{Name: name, Start: start, Size: n})
	return nil
}

// Replace makes a file as Write does, which takes the place of another one. No other file
// makes room for it but on a full disk.
func (d *Dir) Replace(old File, name string, start time.Time, data []byte) error {
	sub, base := filepath.Split(name)
	for {
		err := atomicfile.Write(filepath.Join(d.path, sub), base, atomicfile.Process, data)
		if err == nil {
			break
		}
		if !atomicfile.DiskFull(err) || !d.removeOldest() {
			return err
		}
	}
	if name == old.Name {
		d.Forget(name)
	}
	d.add(File{Name: name, Start: start, Size: int64(len(data))})
	if name == old.Name {
		return nil
	}
	return d.Remove(old)
}

// Remove removes a file.
func (d *Dir) Remove(f File) error {
	i := slices.IndexFunc(d.files, func(of File) bool { return of.Name == f.Name })
	if i < 0 {
		return nil
	}
	err := d.remove(d.files[i])
	if err == nil {
		d.files = slices.Delete(d.files, i, i+1)
	}
	return err
}

func (d *Dir) makeRoom(n int64) error {
	var oldest time.Time
	if d.maxAge > 0 {
		oldest = time.Now().Add(-d.maxAge)
	}
	var stuck error
	d.files = slices.DeleteFunc(d.files, func(f File) bool {
		if d.bytes+n <= d.maxBytes && !f.Start.Before(oldest) {
			return false
		}
		err := d.remove(f)
		if err != nil {
			stuck = err
		}
		return err == nil
	})
	if d.bytes+n > d.maxBytes {
		return fmt.Errorf("make room: %w", stuck)
	}
	return nil
}

// removeOldest reports whether there was a file to remove.
func (d *Dir) removeOldest() bool {
	for i, f := range d.files {
		if d.remove(f) == nil {
			d.files = slices.Delete(d.files, i, i+1)
			return true
		}
	}
	return false
}

func (d *Dir) remove(f File) error {
	if err := os.Remove(filepath.Join(d.path, f.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.NotRemoved++
		return err
	}
	d.Removed++
	d.bytes -= f.Size
	return nil
}

// Forget takes a file out of the account, which somebody else has removed or renamed.
func (d *Dir) Forget(name string) {
	d.files = slices.DeleteFunc(d.files, func(f File) bool {
		if f.Name != name {
			return false
		}
		d.bytes -= f.Size
		return true
	})
}
