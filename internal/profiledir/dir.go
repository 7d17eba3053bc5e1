// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiledir keeps profiles in files: how the files are named, and how many bytes
// they may take together.
package profiledir

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
)

// Dir is a directory with one bound for all of its files. Its methods must not be called
// at the same time.
type Dir struct {
	path     string
	maxBytes int64
	maxAge   time.Duration
	files    []File // in the order of removal
	bytes    int64
	ofClass  map[int]int64 // bytes
	// failed counts the consecutive writes that a full disk has refused. It starts with the
	// first write that failed after files were removed.
	failed int
	// stuck are the files that could not be removed, stuckBy is why the last one could not.
	stuck   map[string]bool
	stuckBy error

	// Class is the worth of a file, by its name. A file is removed for files of its own
	// class and of greater ones. On a full disk only files of class 0 are removed. If it is
	// nil all files have class 0. Compare orders two files of a class: the lesser is
	// removed first. If it is nil the earlier start is less. Set both before there are files.
	Class   func(name string) int
	Compare func(a, b File) int

	// Removed is how many files were removed, NotRemoved how often one could not be.
	Removed, NotRemoved uint64
	// Skipped are the entries that Scan found in place of files.
	Skipped files.Skipped
}

// File is a file of a Dir.
type File struct {
	// Name is relative to the directory, and may be in a subdirectory.
	Name  string
	Start time.Time
	Size  int64
}

// New returns a Dir without files: Scan finds the present ones. A maxAge of 0 keeps
// files of any age.
func New(path string, maxBytes int64, maxAge time.Duration) *Dir {
	return &Dir{path: path, maxBytes: maxBytes, maxAge: maxAge, ofClass: make(map[int]int64), stuck: make(map[string]bool)}
}

// Scan adds the files of a subdirectory with names that start accepts. It returns the
// time in such a name. Only the directory itself may be a link.
func (d *Dir) Scan(sub string, start func(name string) (time.Time, bool)) error {
	dir, links := filepath.Join(d.path, sub), files.NoFollow
	if sub == "" {
		links = files.Follow
	}
	list, err := files.List(dir, links, &d.Skipped, func(name string) bool { _, ok := start(name); return ok })
	for _, info := range list {
		t, _ := start(info.Name())
		d.Add(File{Name: filepath.Join(sub, info.Name()), Start: t, Size: info.Size()})
	}
	return err
}

// Add counts a file that exists.
func (d *Dir) Add(f File) {
	i, _ := slices.BinarySearchFunc(d.files, f, func(a, b File) int {
		c := cmp.Compare(d.class(a.Name), d.class(b.Name))
		switch {
		case c != 0:
		case d.Compare != nil:
			c = d.Compare(a, b)
		default:
			c = a.Start.Compare(b.Start)
		}
		if c != 0 {
			return c
		}
		return -1 // behind others with the same time
	})
	d.files = slices.Insert(d.files, i, f)
	d.count(f, +1)
}

func (d *Dir) class(name string) int {
	if d.Class == nil {
		return 0
	}
	return d.Class(name)
}

// count takes a file into the bytes, or out of them.
func (d *Dir) count(f File, sign int64) {
	d.bytes += sign * f.Size
	d.ofClass[d.class(f.Name)] += sign * f.Size
}

// Files returns the files in the order of removal. They must not be changed.
func (d *Dir) Files() []File { return d.files }

// Bytes returns the size of all files.
func (d *Dir) Bytes() int64 { return d.bytes }

// BytesOf returns the size of the files of a class.
func (d *Dir) BytesOf(class int) int64 { return d.ofClass[class] }

// TooLargeError is returned for a file that is larger than the room for its class.
type TooLargeError struct{ Bytes, MaxBytes int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("its %d bytes are more than the %d that there can be room for", e.Bytes, e.MaxBytes)
}

// Write makes a file as a whole or not at all. The oldest files are removed where they are
// too many or too old, and where the disk is full: the newest is worth more than they are. A
// file that cannot be removed, as where somebody has it open on Windows, is left to later;
// the next ones go for it.
func (d *Dir) Write(name string, start time.Time, data []byte) error {
	n, class := int64(len(data)), d.class(name)
	room := d.maxBytes
	for of, bytes := range d.ofClass {
		if of > class {
			room -= bytes
		}
	}
	if n > room {
		return &TooLargeError{n, max(0, room)}
	}
	if err := d.makeRoom(n, class); err != nil {
		return err
	}
	if err := d.put(name, data); err != nil {
		return err
	}
	d.Add(File{Name: name, Start: start, Size: n})
	return nil
}

// Replace makes a file as Write does, in place of another one. Other files are removed
// only on a full disk.
func (d *Dir) Replace(old File, name string, start time.Time, data []byte) error {
	if err := d.put(name, data); err != nil {
		return err
	}
	d.Forget(name)
	d.Add(File{Name: name, Start: start, Size: int64(len(data))})
	if name == old.Name {
		return nil
	}
	return d.Remove(old)
}

// retryEvery is how many writes fail on a full disk before files are removed again.
const retryEvery = 16

// put writes a file.
func (d *Dir) put(name string, data []byte) error {
	sub, base := filepath.Split(name)
	return d.WithRoom(int64(len(data)), func() error {
		return atomicfile.Write(filepath.Join(d.path, sub), base, atomicfile.Process, data)
	})
}

// WithRoom calls write, which needs n bytes of the disk. On a full disk it removes the oldest
// files, until they had as many bytes, and calls it again. If the write fails nevertheless,
// something else fills the disk. Then only every retryEvery-th of the next writes removes
// files. So files last for long, and one lost race does not end all writing.
func (d *Dir) WithRoom(n int64, write func() error) error {
	freed, mayRemove := int64(0), d.failed%retryEvery == 0
	for {
		err := write()
		if err == nil {
			d.failed = 0
			return nil
		}
		if !atomicfile.DiskFull(err) {
			return err
		}
		if mayRemove && freed < n {
			if bytes, ok := d.removeOldest(); ok {
				freed += bytes
				continue
			}
		}
		if d.failed > 0 || freed > 0 {
			d.failed++
			err = fmt.Errorf("the disk stayed full after old files were removed: %w", err)
		}
		return err
	}
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

// makeRoom removes files until n bytes of a file of a class fit.
func (d *Dir) makeRoom(n int64, class int) error {
	var oldest time.Time
	if d.maxAge > 0 {
		oldest = time.Now().Add(-d.maxAge)
	}
	var stuck error
	d.files = slices.DeleteFunc(d.files, func(f File) bool {
		fits := d.bytes+n <= d.maxBytes || d.class(f.Name) > class
		if fits && !f.Start.Before(oldest) {
			return false
		}
		err := d.remove(f)
		if err != nil {
			stuck = err
		}
		return err == nil
	})
	if d.bytes+n > d.maxBytes {
		return fmt.Errorf("remove older files: %w", stuck)
	}
	return nil
}

// removeOldest removes a file of class 0, and returns its size. It returns false if there
// was none to remove.
func (d *Dir) removeOldest() (bytes int64, ok bool) {
	for i, f := range d.files {
		if d.class(f.Name) > 0 {
			break
		}
		if d.remove(f) == nil {
			d.files = slices.Delete(d.files, i, i+1)
			return f.Size, true
		}
	}
	return 0, false
}

func (d *Dir) remove(f File) error {
	if err := os.Remove(filepath.Join(d.path, f.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.NotRemoved++
		d.stuck[f.Name], d.stuckBy = true, err
		return err
	}
	delete(d.stuck, f.Name)
	d.Removed++
	d.count(f, -1)
	return nil
}

// Stuck returns how many files could not be removed when that was last tried, and the last
// error.
func (d *Dir) Stuck() (n int, err error) { return len(d.stuck), d.stuckBy }

// IsStuck reports whether a file could not be removed when that was last tried.
func (d *Dir) IsStuck(f File) bool { return d.stuck[f.Name] }

// Forget takes a file out of the account, which somebody else has removed or renamed.
func (d *Dir) Forget(name string) {
	delete(d.stuck, name)
	d.files = slices.DeleteFunc(d.files, func(f File) bool {
		if f.Name != name {
			return false
		}
		d.count(f, -1)
		return true
	})
}
