// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"
)

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

// matches says whether q selects a span.
func (q *SpanQuery) matches(s *Span) bool {
	switch {
	case q.Name != "" && s.Name != q.Name,
		q.NameContains != "" && !strings.Contains(strings.ToLower(s.Name), strings.ToLower(q.NameContains)),
		q.Service != "" && s.Service != q.Service,
		q.TraceID != "" && !strings.EqualFold(s.TraceID, q.TraceID),
		q.OnlyErrors && !s.Err,
		q.MinDuration > 0 && (s.Manual || s.Duration < q.MinDuration),
		q.MaxDuration > 0 && (s.Manual || s.Duration > q.MaxDuration),
		!q.Until.IsZero() && !s.Start.Before(q.Until),
		!q.From.IsZero() && s.Start.Add(s.Duration).Before(q.From):
		return false
	}
	return true
}
