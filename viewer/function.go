// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// function is what a frame of a flame graph is known by. Functions are merged
// by name: one that was inlined in one place and called in another is one.
type function struct {
	name string
	file string
	line int64
}
