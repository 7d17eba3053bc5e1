// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// MatchOp compares a sample's label with a Matcher's value.
type MatchOp int

// The operators of a Matcher. A label that a sample lacks has the value "".
const (
	MatchEqual MatchOp = iota
	MatchNotEqual
	MatchRegexp
	MatchNotRegexp
)

// Query selects samples.
type Query struct {
	// Kind selects the profiles' kind.
	Kind exporter.Kind
	// SampleType names the value to return, "cpu" or "alloc_space" say;
	// empty means the kind's default type.
	SampleType string
	// Matchers must all match a sample's labels. service_name and
	// service_version are those of the profile's resource where a sample has
	// no such label of its own. An equality matcher on
	// profile_id or span_id matches a sample where either label has the
	// value: a sample where they differ belongs to both. MatchNotEqual
	// matches where neither has it. The empty value asks about the one
	// label. Of a label with several values the first counts, and a number
	// compares as its decimal digits.
	Matchers []Matcher
	// From and Until select the windows that overlap [From, Until); a
	// zero time leaves that side open.
	From, Until time.Time
	// WithoutIDs leaves the labels profile_id, span_id and trace_id out of what
	// Profile returns: samples that differ in nothing else are summed. A
	// profile of many spans is much smaller that way.
	WithoutIDs bool
	// MaxSamples bounds the number of samples that Profile returns, which are
	// the different stacks with different labels: it fails with
	// ErrTooManySamples where there are more. 0 means no bound.
	MaxSamples int
}
