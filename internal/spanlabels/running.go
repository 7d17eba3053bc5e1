// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import "github.com/spanprof/spanprof/internal/goruntime"

// Root is a local root that has not ended. Start is in nanoseconds since 1970.
type Root struct {
	ID, Trace, Name string
	Start           int64
}

// Running returns the local roots that have not ended and that goroutines carry the labels
// of, each once. It lists the goroutines, and so it costs about a microsecond for each. It
// returns nil if goruntime cannot list them.
func Running() []Root {
	if !goruntime.ListsGoroutines() {
		return nil
	}
	var (
		records []goruntime.StackRecord
		sets    []*labelSet
	)
	n, ok := goruntime.GoroutineProfile(nil, nil)
	for !ok {
		records, sets = make([]goruntime.StackRecord, n+n/8+64), make([]*labelSet, n+n/8+64)
		n, ok = goruntime.GoroutineProfile(records, sets)
	}
	var roots []Root
	seen := make(map[*Block]bool)
	for _, set := range sets[:n] {
		for b := blockOf(set); b != nil && !seen[b]; b = b.under() {
			seen[b] = true
			if b.local && !b.Ended() {
				roots = append(roots, Root{b.ID(), b.ids()[spanDigits:], b.Name(), b.start})
			}
		}
	}
	return roots
}
