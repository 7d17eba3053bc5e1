// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.26 || go1.28 || spanprof_public

package wall

// newSource returns the fastest way for this Go version.
func newSource() source { return newPublicSource() }
