// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"time"
)

// spanRow is a span or an exemplar on its way into a result.
type spanRow struct {
	record   spanRecord
	exemplar *Span

	// end and duration are in nanoseconds, end since 1970.
	end, duration int64
	cpu           time.Duration
}

func (o Order) compare(a, b *spanRow) int {
	switch o {
	case Slowest:
		return cmp.Compare(b.duration, a.duration)
	case MostCPU:
		return cmp.Compare(b.cpu, a.cpu)
	default:
		return cmp.Compare(b.end, a.end)
	}
}

func newSpanRow(r *spanRecord, now int64) spanRow {
	row := spanRow{record: *r, end: r.start + r.duration, duration: r.duration, cpu: r.cpu}
	if r.running() {
		row.end, row.duration = now, now-r.start
	}
	return row
}
