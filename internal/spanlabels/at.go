// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

// At returns the label set that held at nanotime, a time of goruntime.Nanotime,
// on a goroutine that carried set at that time. It skips spans that had ended,
// and endedSpanID is the span_id of set if that no longer held. Both sets may be
// nil, and endedSpanID is empty if nothing was skipped or the skipped labels
// have no id of their own.
//
// At may be called from any goroutine, soon or late after the time. The labels
// it falls back to have the span's present name. A copy of labels that
// runtime/pprof made holds at all times.
func At(set *labelSet, nanotime int64) (held *labelSet, endedSpanID string) {
	held = set
	b := blockOf(held)
	for ; b != nil; b = blockOf(held) {
		if ended := b.ended.Load(); ended == 0 || nanotime <= ended {
			break
		}
		held = b.prev.Load()
	}
	if held == set {
		return set, ""
	}
	if b != nil {
		held = b.current()
	}
	if id := spanID(set); id != spanID(held) {
		endedSpanID = id
	}
	return held, endedSpanID
}

// live returns the set that holds from now on, with its present name.
func live(set *labelSet) *labelSet {
	for b := blockOf(set); b != nil; b = blockOf(set) {
		if !b.hasEnded() {
			return b.current()
		}
		set = b.prev.Load()
	}
	return set
}

// StartOf returns the start time, in nanoseconds since 1970, of the span that
// set belongs to. It reports false for nil and for a foreign set.
func StartOf(set *labelSet) (start int64, ok bool) {
	b := blockOf(set)
	if b == nil {
		return 0, false
	}
	return b.start, true
}
