// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.28 && !spanprof_public

package goruntime

import _ "unsafe" // for linkname

// goroutineProfile stores the stacks and label sets of all goroutines if there is room, and
// returns their number. The stacks are allocated by the call.
//
// The runtime does not promise to keep this function, and without it the program does not
// link: raise the upper bound above when a new Go has it.
//
//go:linkname goroutineProfile runtime.pprof_goroutineProfileWithLabels
func goroutineProfile(records []StackRecord, labels []*LabelSet) (n int, ok bool)

// ListsGoroutines reports whether Goroutines can list them.
func ListsGoroutines() bool { return Unknown() == nil }
