// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/wire"
)

// maxUnpacked bounds a profile without gzip. A CPU profile of a minute has about a
// megabyte. Tests make it less.
var maxUnpacked int64 = 128 << 20

// Parse parses a profile in pprof's format, gzipped or not. It returns an error that
// wraps [ErrNotProfile], [ErrDamaged] or, if there are no data, [ErrEmpty].
func Parse(data []byte) (*profile.Profile, error) {
	zipped := bytes.HasPrefix(data, []byte{0x1f, 0x8b})
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("%w: it has no bytes", ErrEmpty)
	case bytes.HasPrefix(data, []byte("GO PREPROFILE")):
		return nil, fmt.Errorf("%w, but the output of go tool preprofile: give what that was made of", ErrNotProfile)
	case zipped:
		var err error
		if data, err = unzip(data); err != nil {
			return nil, err
		}
	case int64(len(data)) > maxUnpacked:
		return nil, fmt.Errorf("%w: more than %d MiB", ErrNotProfile, maxUnpacked>>20)
	}
	if err := wire.Pprof.Check(data, wire.MaxProfile); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	if len(p.SampleType) == 0 {
		return nil, fmt.Errorf("%w: it does not state what it measures", ErrNotProfile)
	}
	return p, nil
}

func unzip(data []byte) ([]byte, error) {
	unpacked, err := wire.Inflate(data, maxUnpacked)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: the file was cut off: %w", ErrDamaged, err)
	case errors.Is(err, wire.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return unpacked, nil
}
