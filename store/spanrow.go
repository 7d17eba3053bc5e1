// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"time"
)

// spanRow is a span or an exemplar on its way into a result.
type spanRow struct {
	record   *spanRecord
	exemplar *Span

	// end and duration are in nanoseconds, end since 1970.
	end, duration int64
	cpu           time.Duration
	samples       int64
	label         string
	complete      bool
	coverage      Coverage
}

func (o Order) compare(a, b spanRow) int {
	switch o {
	case Slowest:
		return cmp.Compare(b.duration, a.duration)
	case MostCPU:
		return cmp.Compare(b.cpu, a.cpu)
	default:
		return cmp.Compare(b.end, a.end)
	}
}

func (r *spanRow) service() string {
	if r.exemplar != nil {
		return r.exemplar.Service
	}
	return r.record.service
}

func (r *spanRow) span() Span {
	span := Span{}
	if r.exemplar != nil {
		span = *r.exemplar
	} else {
		span = r.record.span()
	}
	span.CPU, span.CPUSamples, span.Label = r.cpu, r.samples, r.label
	span.CPUInclusive, span.SamplesHeld = r.cpu, r.samples
	span.Complete, span.Coverage = r.complete, r.coverage
	return span
}
