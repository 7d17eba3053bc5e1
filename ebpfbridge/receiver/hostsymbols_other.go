// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package receiver

// readMappedOf returns nil: agents are on Linux.
func readMappedOf(int64, file) (table, bool) { return nil, false }
