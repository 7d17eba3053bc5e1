// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// SpanQuery selects spans. The zero value selects all that have ended, newest
// first.
type SpanQuery struct {
	// Name, if not empty, selects spans of this very name, NameContains those
	// whose name has it as a part, in letters of either case.
	Name, NameContains string
	// Service, if not empty, selects spans of this very service.name.
	Service string
	// TraceID, if not empty, selects the spans of one trace: 32 hex digits.
	TraceID string
	// OnlyErrors selects spans with the status Error.
	OnlyErrors bool
	// MinDuration and MaxDuration bound the wall clock, both inclusive; 0
	// means no bound. Manual exemplars have no wall clock of their own: a
	// bound leaves them out.
	MinDuration, MaxDuration time.Duration
	// From and Until select the spans that overlap [From, Until); a zero
	// time leaves that side open.
	From, Until time.Time
	// Running adds the local roots that have not ended.
	Running bool
	// Order is the order of the result.
	Order Order
	// Limit bounds the length of the result; 0 means no bound.
	Limit int
}
