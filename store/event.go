// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// EventType says what happened to a window.
type EventType string

// The types of an Event.
const (
	// EventReceived says that a window was taken in.
	EventReceived EventType = "received"
	// EventRefused says that a profile was not taken in, as Text tells.
	EventRefused EventType = "refused"
	// EventEvicted says that a window made room for newer ones.
	EventEvicted EventType = "evicted"
)

// Event is an entry of the store's log.
type Event struct {
	// Time is when it happened.
	Time time.Time
	Type EventType
	// Kind and Service are those of the window.
	Kind    exporter.Kind
	Service string
	// Samples is the number of samples taken, Bytes the memory that the
	// window takes by itself. Both are 0 for a profile that was refused.
	Samples, Bytes int64
	// Text is the error of a profile that was refused, cut to 1024 bytes.
	Text string
}
