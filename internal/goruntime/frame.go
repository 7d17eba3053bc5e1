// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Frame is a place in the source.
type Frame struct {
	Function  string
	File      string
	Line      int64
	StartLine int64 // of Function
}
