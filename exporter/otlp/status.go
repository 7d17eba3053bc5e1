// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/spanprof/spanprof/internal/servertext"
)

// statusMessage is the number of google.rpc.Status's field of that name.
const statusMessage = 2

// statusText returns the message of a google.rpc.Status, or b if it is none or
// has no message. A module for the one field would be a lot.
func statusText(b []byte) []byte {
	text := b
	for rest := b; len(rest) > 0; {
		number, wireType, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return b
		}
		rest = rest[n:]
		if n = protowire.ConsumeFieldValue(number, wireType, rest); n < 0 {
			return b
		}
		if number == statusMessage && wireType == protowire.BytesType {
			message, _ := protowire.ConsumeBytes(rest)
			text = []byte(servertext.Clean(string(message)))
		}
		rest = rest[n:]
	}
	return text
}
