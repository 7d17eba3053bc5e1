// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import "time"

// RetryError is what a [Destination] returns of an attempt that can succeed
// later.
type RetryError struct {
	// Err says what went wrong; never nil.
	Err error
	// After is how long the destination wants to be left alone, by its
	// Retry-After header for example. 0 leaves it to the Queue.
	After time.Duration
	// Refused says that the destination has certainly not taken the
	// profile, as it has not where no connection came about. After other
	// errors it may have, and the next attempt may deliver a duplicate.
	Refused bool
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RetryError) Unwrap() error { return e.Err }
