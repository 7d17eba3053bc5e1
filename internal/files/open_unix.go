// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import "syscall"

// Flags of open(2).
const (
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow    = syscall.O_NOFOLLOW
)
