// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import "errors"

// What is wrong with a source. Merge and Add return them within a [SourceError].
var (
	// ErrNotProfile says that the data are no profile in pprof's format.
	ErrNotProfile = errors.New("not a profile in pprof's format")
	// ErrDamaged says that the data begin like a profile and then end or make no
	// sense, as a file that was cut off does.
	ErrDamaged = errors.New("damaged profile")
	// ErrNotCPU says that the profile measures something else than CPU time.
	ErrNotCPU = errors.New("not a CPU profile")
	// ErrEmpty says that there are no samples: none at all, or none of the span
	// that WithSpan names.
	ErrEmpty = errors.New("no samples")
	// ErrNoStartLine says that the profile lacks the line on which each function
	// begins, by which the compiler finds call sites. Go writes it since 1.20;
	// profilers of whole hosts may not know it.
	ErrNoStartLine = errors.New("no function has a start line")
)

// SourceError is an error of one source.
type SourceError struct {
	// Source is the name of the source.
	Source string
	// Err wraps one of the errors of this package, unless the profile is too large.
	Err error
}

func (e *SourceError) Error() string { return e.Source + ": " + e.Err.Error() }

func (e *SourceError) Unwrap() error { return e.Err }
