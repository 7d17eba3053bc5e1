// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package atomicfile writes files that are there as a whole or not at all,
// also when the process is killed.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spanprof/spanprof/internal/files"
)

// pattern names the files that are being written.
const pattern = "spanprof-*.tmp"

// Write makes the file name in dir. Only its owner can read it. A crash of the machine
// may lose it.
func Write(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// stale is the age from which on nobody is writing a file any more.
const stale = time.Minute

// Prepare makes dir with its parents. It removes the files that a killed process left half
// written there a minute ago or earlier. It returns an error if no file can be written.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Files of another user cannot be removed, and harm nobody.
	list, _ := files.List(dir, files.Follow, &files.Skipped{}, func(name string) bool { ok, _ := filepath.Match(pattern, name); return ok })
	for _, info := range list {
		if time.Since(info.ModTime()) >= stale { // else it may be in use
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
	probe, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	return nil
}

// ErrLocked is returned by Lock if another holds the lock.
var ErrLocked = errors.New("in use already")

// LockName is the file in the directory that is locked. It stays.
const LockName = "spanprof.lock"

// lockWait is how long Lock waits for another holder. It may be a process that is ending
// while its successor starts.
const lockWait = time.Second

// Lock reserves dir until the file is closed or the process ends. It excludes others in this
// process too. It waits a second for another holder and then returns ErrLocked. On Solaris,
// AIX and systems other than Unix and Windows it excludes nobody.
func Lock(dir string) (*os.File, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockWait / 50) {
		f, err := TryLock(dir)
		if !errors.Is(err, ErrLocked) || time.Now().After(end) {
			return f, err
		}
	}
}

// TryLock is Lock without the wait.
func TryLock(dir string) (*os.File, error) { return lock(filepath.Join(dir, LockName)) }
