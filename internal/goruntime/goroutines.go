// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// StackRecord is the runtime's internal/profilerecord.StackRecord.
type StackRecord struct{ Stack []uintptr }

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
