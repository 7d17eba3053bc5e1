// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"encoding/hex"
	"testing"
)

func TestEncodeHex8(t *testing.T) {
	for first := range 256 {
		src := [8]byte{byte(first), 0x0f, 0xf0, byte(255 - first), 0x9a, 0xa9, byte(first), 0x10}
		var got [16]byte
		encodeHex8(&got, &src)
		if want := hex.EncodeToString(src[:]); string(got[:]) != want {
			t.Errorf("encodeHex8(%x) = %s", src, got)
		}
	}
}

func BenchmarkEncodeHex(b *testing.B) {
	s := &spanState{}
	var digits [hexIDsLen]byte
	b.Run("spanprof", func(b *testing.B) {
		for b.Loop() {
			s.encodeIDs(&digits)
		}
	})
	b.Run("hex.Encode", func(b *testing.B) {
		for b.Loop() {
			hex.Encode(digits[:16], s.labelID[:])
			hex.Encode(digits[16:], s.traceID[:])
		}
	})
}
