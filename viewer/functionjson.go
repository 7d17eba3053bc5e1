// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// maxFunctions bounds the list of functions. The ones after it take next to
// nothing.
const maxFunctions = 1000

// functionJSON is a function as programs see it.
type functionJSON struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	// Line is where the function begins.
	Line  int64 `json:"line,omitempty"`
	Self  int64 `json:"self,omitempty"`
	Total int64 `json:"total"`
}
