// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/untrusted"
)

var (
	// ErrNotCPU is the error for a profile without CPU time that the compiler can use.
	ErrNotCPU = errors.New("not a CPU profile")
	// ErrEmpty is the error for profiles without samples, or without samples of the span
	// that WithSpan names.
	ErrEmpty = errors.New("no samples")
)

// maxUnpacked bounds a profile without gzip. A CPU profile of a minute has about a
// megabyte.
const maxUnpacked = 128 << 20

// Parse parses a profile in the pprof format, gzipped or not, or a heap profile as text. The
// error wraps [ErrEmpty] if there are no data. The error for the file of another tool
// describes it.
func Parse(data []byte) (*profile.Profile, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it has no bytes", ErrEmpty)
	}
	p, err := untrusted.File(data, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("not a profile in the pprof format: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, errors.New("not a profile: it has no columns of values")
	}
	return p, nil
}
