// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff

// Stats counts what became of the items that were pushed. Every one of them is
// in exactly one field.
type Stats struct {
	// Exported are the items whose Export returned nil. Failed are those
	// whose Export returned an error, panicked or ended its goroutine.
	Exported, Failed uint64
	// Dropped are the items that made room for newer ones, that Shutdown
	// had no time for, or that came after it.
	Dropped uint64
	// Waiting are the items that wait or are being exported now.
	Waiting int
}
