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
	// Profile is what go build -pgo reads: CPU time, then counts of samples.
	Profile *profile.Profile
	// Samples is the number of CPU samples, CPU their time.
	Samples int64
	CPU     time.Duration
	// Functions is the number of functions on the stacks.
	Functions int
	// Unseen estimates which share of the calls of the workload, by CPU time, the
	// profile has never seen. It is the share of the calls that were seen once. The
	// compiler takes such calls for cold.
	Unseen float64
	// Replicas are the runs of processes that the profiles were taken of, in the
	// order in which they came.
	Replicas []Replica
	// Binaries are the programs that the profiles were taken of, the first 100.
	Binaries []Binary
	// Warnings say why the profile may serve badly: too few samples, or samples of
	// different programs, for example. Each is a sentence.
	Warnings []string
}

// Replica is a run of a process.
type Replica struct {
	Name     string
	Profiles int
	// Samples is the number of its CPU samples in the result.
	Samples int64
	// Weight is by what WithBalance has multiplied its CPU time, else 1.
	Weight float64
}

// WriteFile writes the profile to a file, which is there as a whole or not at all.
// It returns an error that wraps [fs.ErrExist] if there is a file already; see
// ReplaceFile.
func (r *Result) WriteFile(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrExist}
	}
	return r.ReplaceFile(path)
}

// ReplaceFile is WriteFile where a regular file may be there already. That is
// replaced; a link to it stays.
func (r *Result) ReplaceFile(path string) error {
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
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if err := atomicfile.Write(dir, name, b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// A source file like others: whoever builds reads it, and no label is left.
	return os.Chmod(path, 0o644)
}
