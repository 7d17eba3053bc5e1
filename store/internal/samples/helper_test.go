// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/samples"
)

const tick = 10 * time.Millisecond

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// timed is a CPU sample, taken at these times after the start of the window.
type timed struct {
	labels map[string]string
	at     []time.Duration
	count  int64 // 0 means one for each time
}

// ids are the labels of a span's samples.
func ids(n int) map[string]string {
	id := fmt.Sprintf("%016x", n)
	return map[string]string{"profile_id": id, "span_id": id}
}

// build returns the window of 10 s, and the place there of each sample.
func build(tb testing.TB, in ...timed) (w samples.Window, places []uint32) {
	tb.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     int64(tick),
	}
	times := [][]int64{}
	for _, s := range in {
		count := s.count
		if count == 0 {
			count = int64(len(s.at))
		}
		sample := &profile.Sample{Value: []int64{count, count * int64(tick)}, Label: map[string][]string{}}
		for key, value := range s.labels {
			sample.Label[key] = []string{value}
		}
		p.Sample = append(p.Sample, sample)
		var of []int64
		for _, at := range s.at {
			of = append(of, epoch.Add(at).UnixNano())
		}
		times = append(times, of)
	}
	return samples.NewTable(intern.NewTexts()).Build(exporter.NewTimedProfile(exporter.Window{
		Kind: exporter.KindCPU, Start: epoch, Duration: 10 * time.Second,
	}, p, times), p)
}
