// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import "google.golang.org/protobuf/encoding/protowire"

// statusMessage is the number of google.rpc.Status's field of that name.
const statusMessage = 2

// protobufType is the content type of OTLP's messages.
const protobufType = "application/x-protobuf"

// errorText returns what the body of an error says.
func errorText(contentType string, body []byte) []byte {
	if contentType == protobufType {
		return statusText(body)
	}
	return body
}

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
			text = message
		}
		rest = rest[n:]
	}
	return text
}
