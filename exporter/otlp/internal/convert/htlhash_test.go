// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

func TestHTLHash(t *testing.T) {
	for _, size := range []int{0, 10, 4096, 5000, 20000} {
		file := make([]byte, size)
		for i := range file {
			file[i] = byte(i * i >> 3)
		}
		// The formula of the semantic convention.
		input := bytes.Join([][]byte{
			file[:min(4096, size)],
			file[max(size-4096, 0):],
			binary.BigEndian.AppendUint64(nil, uint64(size)),
		}, nil)
		digest := sha256.Sum256(input)
		got, err := htlhash(bytes.NewReader(file), int64(size))
		if want := hex.EncodeToString(digest[:16]); err != nil || got != want {
			t.Errorf("%d bytes: %q, %v; want %q", size, got, err, want)
		}
	}
}
