// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package split

import "encoding/binary"

// UncompressedSize returns the uncompressed size of a pprof form: what the trailer of
// gzip states, if it is gzipped (RFC 1952, 2.3.1).
func UncompressedSize(data []byte) int64 {
	if len(data) < 18 || data[0] != 0x1f || data[1] != 0x8b {
		return int64(len(data))
	}
	return int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
}
