// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// takenAway returns how often the operating system took the caller's thread away while it ran,
// which Linux alone tells.
func takenAway() int64 { return 0 }
