// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// Result is a merged profile and what is in it.
type Result struct {
	// Profile is the profile for go build -pgo: CPU time, then counts of samples.
	Profile *profile.Profile
	// Samples is the number of CPU samples, CPU their time.
	Samples int64
	CPU     time.Duration
	// Functions is the number of functions on the stacks, Replicas the number of runs of
	// processes with a usable profile.
	Functions, Replicas int
	// LeftOut has an error for each source that cannot be used. It begins with the name
	// of the source, and may wrap ErrNotCPU.
	LeftOut []error
	// Warnings are reasons why the profile may not help: too few samples, or samples of
	// different programs, for example. Each is a sentence.
	Warnings []string
}

// WriteFile writes the profile to a file, completely or not at all. It replaces a regular
// file. A link to that is kept.
func (r *Result) WriteFile(path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %s: it is not a regular file", path)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := r.Profile.Write(&b); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := atomicfile.Write(filepath.Dir(path), filepath.Base(path), b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Chmod(path, 0o644) // a source file: every developer reads it, and it has no labels
}
