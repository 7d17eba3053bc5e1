// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type counter int

const (
	slowSpans counter = iota
	// The outcomes of slow spans.
	stored
	unrecorded
	missed
	// The outcomes of recordings.
	readings
	failures
	counters
)

// counterTexts have the metric's attribute, "" if there is no metric, and the text of the page.
var counterTexts = [counters]struct{ outcome, text string }{
	slowSpans:  {"", "slow spans"},
	stored:     {"span_stored", "slow spans with exact times"},
	unrecorded: {"span_not_recorded", "slow spans while recording was off"},
	missed:     {"span_missed", "slow spans missing in the recording read"},
	readings:   {"recording_read", "recordings read"},
	failures:   {"recording_lost", "recordings lost"},
}

// accounts are the values of the counters, here and as metrics.
type accounts struct {
	values [counters]atomic.Uint64
	metric metric.Int64Counter
	sets   [counters]metric.MeasurementOption
}

func newAccounts(p metric.MeterProvider) (*accounts, error) {
	m, err := p.Meter("github.com/spanprof/spanprof/exectrace").Int64Counter("spanprof.exectrace", metric.WithUnit("1"), metric.WithDescription("Slow spans, and recordings of the flight recorder, by outcome."))
	if err != nil {
		return nil, fmt.Errorf("exectrace: metrics: %w", err)
	}
	a := &accounts{metric: m}
	for c := stored; c < counters; c++ {
		a.sets[c] = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", counterTexts[c].outcome)))
	}
	return a, nil
}

func (a *accounts) count(c counter, n int) {
	if n <= 0 {
		return
	}
	a.values[c].Add(uint64(n))
	if c >= stored {
		a.metric.Add(context.Background(), int64(n), a.sets[c]) // of no span
	}
}

// Counters returns six counters with their texts, for Profiling.AddCounters of package
// inprocess. Each slow span is also in one of the three counters after the first, once its
// outcome is certain.
func (r *Recorder) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for c := range counters {
			if !yield("exact times: "+counterTexts[c].text, r.accounts.values[c].Load()) {
				return
			}
		}
	}
}
