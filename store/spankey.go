// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// spanKey is the id of a span in binary; 0, which no span has, for none.
type spanKey uint64

func newSpanKey(id trace.SpanID) spanKey { return spanKey(binary.BigEndian.Uint64(id[:])) }

// parseSpanKey returns 0 for a text that is not the id of a span.
func parseSpanKey(text string) spanKey {
	id, err := trace.SpanIDFromHex(text)
	if err != nil {
		return 0
	}
	return newSpanKey(id)
}

// String returns the 16 hex digits of the id, "" for none.
func (k spanKey) String() string {
	if k == 0 {
		return ""
	}
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(k))
	return hex.EncodeToString(id[:])
}
