// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !go1.28 && !spanprof_public

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

// Goroutines returns the stacks and label sets of all goroutines, nil unless
// ListsGoroutines. It reuses the memory of both slices, which are nil or from an earlier call.
func Goroutines(records []StackRecord, labels []*LabelSet) ([]StackRecord, []*LabelSet) {
	if !ListsGoroutines() {
		return nil, nil
	}
	n, _ := goroutineProfile(nil, nil)
	for {
		if room := n + n/8 + 64; cap(records) < n || cap(records) > 4*room { // others start meanwhile
			records, labels = make([]StackRecord, room), make([]*LabelSet, room)
		}
		var ok bool
		if n, ok = goroutineProfile(records[:cap(records)], labels[:cap(labels)]); ok {
			return records[:n], labels[:n]
		}
	}
}
