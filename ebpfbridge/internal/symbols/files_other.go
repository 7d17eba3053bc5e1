// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package symbols

// Agents are on Linux: elsewhere there are no functions of theirs.
func (*Symbolizer) find(processFile) string { return "" }
