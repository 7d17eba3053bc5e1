// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// executableJSON is an executable or a library as programs see it.
type executableJSON struct {
	// File is empty for code of which no mapping is known.
	File    string `json:"file"`
	BuildID string `json:"buildId,omitempty"`
	// Self is what ran in it, Total what it or its callees did.
	Self  int64 `json:"self"`
	Total int64 `json:"total"`
}
