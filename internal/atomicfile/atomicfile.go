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

// Write makes the file name in dir of the parts, one after the other. Only its
// owner can read it. A crash of the machine may lose it.
func Write(dir, name string, parts ...[]byte) error {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
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

// Clean removes the files in dir that a killed process left half written a minute ago or
// earlier. A directory that does not exist has none. The error counts what stays.
func Clean(dir string) error {
	var stays files.Skipped
	list, err := files.List(dir, files.Follow, &stays, func(name string) bool { ok, _ := filepath.Match(pattern, name); return ok })
	errs := []error{err}
	for _, info := range list {
		if time.Since(info.ModTime()) >= stale { // else it may be in use
			errs = append(errs, os.Remove(filepath.Join(dir, info.Name())))
		}
	}
	for _, err := range errs {
		if !errors.Is(err, os.ErrNotExist) {
			stays.Add(err)
		}
	}
	return stays.Err()
}

// Prepare makes dir with its parents, and calls Clean. It returns an error if no file
// can be written.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// What is of another user cannot be removed, and harms nobody.
	_ = Clean(dir)
	probe, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	return nil
}
