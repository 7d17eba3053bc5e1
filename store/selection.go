// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// Selection is the answer to a Query: the samples that matched, summed by
// stack. It is a snapshot: it does not change when more profiles arrive.
type Selection struct {
	// Kind and SampleType say what Values measure, Unit in what: "cpu" in
	// "nanoseconds".
	Kind       exporter.Kind
	SampleType string
	Unit       string
	// Stacks are the distinct stacks, in an order that is the same whenever the
	// same profiles are asked.
	Stacks []StackValue
	// Total is the sum of all values, Samples the number of samples (for
	// heap: of distinct allocation sites).
	Total   int64
	Samples int64
	// ProfileIDs is the number of different profile_id values among the
	// samples.
	ProfileIDs int
	// SpanNames are the different values of span_name among the samples, in
	// alphabetical order, "" where samples have none. Of more than 16, the
	// first to be found are there.
	SpanNames []string
	// From and Until bound the windows that were looked at, Windows is
	// their number.
	From, Until time.Time
	Windows     int
}

// StackValue is a stack and the sum of its samples.
type StackValue struct {
	Stack *Stack
	Value int64
}
