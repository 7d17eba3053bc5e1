// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
)

// maxUnpacked bounds a profile without gzip. A CPU profile of a minute has about a
// megabyte.
const maxUnpacked = 128 << 20

// Parse parses a profile in pprof's format, gzipped or not. It returns an error that
// wraps [ErrNotProfile], [ErrDamaged] or, if there are no data, [ErrEmpty]. A profile that
// is too large is another error.
func Parse(data []byte) (*profile.Profile, error) {
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("%w: it has no bytes", ErrEmpty)
	case bytes.HasPrefix(data, []byte("GO PREPROFILE")):
		return nil, fmt.Errorf("%w, but the output of go tool preprofile: give what that was made of", ErrNotProfile)
	}
	p, err := untrusted.Profile(data, maxUnpacked)
	switch {
	case errors.Is(err, wire.ErrGzip):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.Is(err, wire.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	case len(p.SampleType) == 0:
		return nil, fmt.Errorf("%w: it does not state what it measures", ErrNotProfile)
	}
	return p, nil
}
