// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// Counter is a number that the viewer shows beside its status, such as how
// many profiles were dropped.
type Counter struct {
	Name  string
	Value uint64
	// Unit is that of Value, "nanoseconds" or "bytes"; empty for a count.
	Unit string
}
