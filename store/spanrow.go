// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

// spanRow is a span or an exemplar on its way into a result.
type spanRow struct {
	record   spanRecord
	exemplar *Span
	// value decides on the order: the greatest comes first.
	value int64
}

// value returns what decides on the place of a record, at a moment in nanoseconds
// since 1970, which only counts if it is running.
func (o Order) value(r *spanRecord, now int64) int64 {
	end, duration := r.start+r.duration, r.duration
	if r.running() {
		end, duration = now, now-r.start
	}
	switch o {
	case Slowest:
		return duration
	case MostCPU:
		return int64(r.cpu)
	default:
		return end
	}
}

func (o Order) valueOfExemplar(x *exemplar) int64 {
	switch o {
	case Slowest:
		return int64(x.duration())
	case MostCPU:
		return int64(x.cpu)
	default:
		return x.last.end.UnixNano()
	}
}
