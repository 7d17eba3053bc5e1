// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package files

// There are no such flags: the type of a file is checked before it is opened.
const nonBlocking, noFollow = 0, 0
