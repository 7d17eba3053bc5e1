// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// writeSpans writes the spans that ended, and whose samples have come, since the last time.
func (d *directory) writeSpans(everything bool) {
	// After a failure all are written again: those that are twice in files count once.
	again := !d.lostAt.IsZero() && (everything || time.Since(d.lostAt) >= keptEvery)
	if again {
		d.lostAt = time.Time{}
	}
	done := false
	defer func() {
		if !done {
			d.lostAt = time.Now() // A panic: what was taken is written again too.
		}
	}()
	c := spanConverter{of: d}
	var spans []journal.Span
	write := func() {
		left, err := d.journal.Spans(time.Now(), d.counted, spans)
		if err != nil {
			d.lostAt = time.Now()
			d.report(err)
		}
		spans, d.counted = spans[:0], left
	}
	d.store.spans.TakeEnded(everything, again, func(r *spanlog.Record) {
		if spans = append(spans, c.convert(r)); len(spans) == maxSpans {
			write()
		}
	})
	write()
	done = true
	d.boundCounts()
}

// boundCounts lets the counts of the oldest windows go where too many wait, of each window
// all or none. A window of which a file has some waits on.
func (d *directory) boundCounts() {
	n := 0
	for len(d.counted) > maxCounted {
		first := slices.IndexFunc(d.counted, func(w journal.Window) bool { return !w.Begun })
		if first < 0 {
			break
		}
		name := d.counted[first].File
		d.counted = slices.DeleteFunc(d.counted, func(w journal.Window) bool { return w.File == name })
		n++
	}
	if n > 0 {
		d.miss(n)
		d.report(fmt.Errorf("the counts by name of %d windows could not be written and are in memory alone", n))
	}
}

// writeKept writes the spans that outlive others, and whose samples have come: those that
// are worth most first, as there may be no room for all.
func (d *directory) writeKept(everything bool) {
	d.keptAt = time.Now()
	c := spanConverter{of: d}
	var (
		spans []journal.Span
		keys  []ident.Key
	)
	d.store.spans.EachPinned(everything, func(r *spanlog.Record) {
		spans, keys = append(spans, c.convert(r)), append(keys, ident.NewKey(r.SpanID))
	})
	if len(spans) == 0 {
		return
	}
	before := d.journal.Stats().KeptLeft
	d.report(d.journal.Kept(d.keptAt, sortedByRank(spans, d.store.spans.Ranks(keys))))
	if n := d.journal.Stats().KeptLeft; n > 0 && before == 0 {
		d.report(fmt.Errorf("%d of the %d slowest spans find no room in the quarter of %d bytes that is theirs: give WithDirectory more", n, len(spans), d.maxBytes))
	}
}

// sortedByRank returns the spans with the least ranks first.
func sortedByRank(spans []journal.Span, ranks []int) []journal.Span {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	sorted := make([]journal.Span, len(spans))
	for i, from := range order {
		sorted[i] = spans[from]
	}
	return sorted
}

// rank says how much a sample is worth when its window makes room on the disk.
func (d *directory) rank(s *profile.Sample) int {
	rank := journal.NoRank
	for _, label := range []string{labelkey.SpanID, labelkey.ProfileID, labelkey.EndedSpanID} {
		for _, id := range s.Label[label] {
			if key := ident.ParseKey(id); key != 0 {
				rank = min(rank, d.store.spans.Ranks([]ident.Key{key})[0])
			}
		}
	}
	return rank
}
