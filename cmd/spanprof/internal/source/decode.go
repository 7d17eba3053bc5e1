// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// maxUnpacked bounds a profile without its compression. Large profiles of Go
// programs have 10 MiB. Tests make it less.
var maxUnpacked = 256 << 20

// Decode reads a profile in the pprof format, gzipped or not. It bounds what it
// unpacks: a file of some kilobytes could fill the memory otherwise.
func Decode(data []byte) (*profile.Profile, error) {
	if len(data) == 0 {
		return nil, errors.New("empty: no profile in the pprof format")
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var err error
		if data, err = unpack(data); err != nil {
			return nil, fmt.Errorf("the gzipped profile is damaged: %w", err)
		}
	}
	parsed, err := profile.ParseUncompressed(data)
	if err == nil {
		err = parsed.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("no profile in the pprof format: %w", err)
	}
	if len(parsed.SampleType) == 0 {
		return nil, errors.New("no profile in the pprof format: it has no sample types")
	}
	return parsed, nil
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(z, int64(maxUnpacked)+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it is cut off")
	case err != nil:
		return nil, err
	case len(data) > maxUnpacked:
		return nil, fmt.Errorf("unpacked it has more than %d MiB", maxUnpacked>>20)
	}
	return data, z.Close()
}
