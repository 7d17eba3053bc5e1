// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package livelabels tells which labels of a goroutine still hold: those of a
// span that has ended stay on the goroutines that it started, such as an HTTP
// client's for its connections.
//
// Package spanprof knows that, by what it keeps with the label sets that it
// makes, and package profiler asks. Neither imports the other.
package livelabels

import (
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/goruntime"
)

var registered atomic.Pointer[func(*goruntime.LabelSet) *goruntime.LabelSet]

// Register sets what Of calls, from any goroutine.
func Register(of func(*goruntime.LabelSet) *goruntime.LabelSet) { registered.Store(&of) }

// Of returns the label set of runtime/pprof that holds on a goroutine which carries
// set: set itself unless it is of a span that has ended. Both may be nil. It may be
// called from any goroutine, and does not change what the goroutine carries.
func Of(set *goruntime.LabelSet) *goruntime.LabelSet {
	of := registered.Load()
	if of == nil || set == nil {
		return set
	}
	return (*of)(set)
}
