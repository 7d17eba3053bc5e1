// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "fmt"

// SpanIDs says how a message holds the ids of the span that a sample belongs
// to, which pprof has as the labels trace_id and span_id.
type SpanIDs int

const (
	// Links makes a Link of them. It is OTLP's way, the smallest one, and the
	// default.
	Links SpanIDs = iota
	// Attributes leaves them attributes of the sample, for backends that ignore
	// Links, as Parca does.
	Attributes
	// LinksAndAttributes does both. It makes the message about half as large
	// again: gzip finds nothing in common between an id and its hexadecimal form.
	LinksAndAttributes
)

// String returns the name of the constant.
func (s SpanIDs) String() string {
	switch s {
	case Links:
		return "Links"
	case Attributes:
		return "Attributes"
	case LinksAndAttributes:
		return "LinksAndAttributes"
	}
	return fmt.Sprintf("SpanIDs(%d)", int(s))
}
