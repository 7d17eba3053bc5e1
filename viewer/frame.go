// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// frame is a function on a stack.
type frame struct {
	// function is a number that functions gave out.
	function int32
	// inlined says that the function was compiled into the one that called
	// it.
	inlined bool
}
