// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package wall

// readDelays reports false: run delays of threads are known on Linux alone.
func readDelays() (delays, bool) { return nil, false }
