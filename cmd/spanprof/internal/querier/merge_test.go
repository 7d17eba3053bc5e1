// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import "testing"

func FuzzDecodeMerge(f *testing.F) {
	for _, seed := range []string{"", "\x2a\x02\x0a\x00", "\x0a\x02\x18\x01", "\x2a\xff\xff\xff\x7f", "\x2a\x06\x0a\x04\x12\x02\x0a\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		p, err := decodeMerge(answer)
		if err != nil || p == nil {
			return
		}
		for _, s := range p.Sample {
			if len(s.Value) != 1 {
				t.Fatalf("a sample has %d values", len(s.Value))
			}
		}
	})
}
