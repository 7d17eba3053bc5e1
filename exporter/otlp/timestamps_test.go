// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// The times of samples are sent if WithSampleTimestamps is set.
func TestTimestamps(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	for name, opts := range map[string][]otlp.Option{"on": {otlp.WithSampleTimestamps()}, "off": nil} {
		t.Run(name, func(t *testing.T) {
			b := &backend{t: t}
			e := newExporter(t, b, opts...)
			untimed := newProfile(3)
			parsed, err := untimed.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			var times []int64
			for i := range int64(3) {
				times = append(times, untimed.Start().UnixNano()+i*int64(time.Millisecond))
			}
			window := exporter.Window{Kind: untimed.Kind(), Start: untimed.Start(), Duration: untimed.Duration(), Resource: untimed.Resource()}
			if err := e.Export(t.Context(), exporter.NewParsedProfile(window, parsed, [][]int64{times}...)); err != nil {
				t.Fatal(err)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			_, messages := b.received()
			profiles := messages[0].ResourceProfiles[0].ScopeProfiles[0].Profiles
			sample := profiles[0].Samples[0]
			var got []int64
			for _, at := range sample.TimestampsUnixNano {
				got = append(got, int64(at))
			}
			if want := len(opts) > 0; want != slices.Equal(got, times) || want != (sample.Values == nil) || len(profiles) != 1 {
				t.Errorf("timestamps %v, values %v", got, sample.Values)
			}
		})
	}
}
