// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.26 || go1.28 || spanprof_public

package spanprof

// newLabeler returns the labeler for this Go version.
func newLabeler() labeler { return publicLabeler{} }
