// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// TestTimestampsOutliveTheQueue has a profile wait in memory, and in a file, until the
// second attempt.
func TestTimestampsOutliveTheQueue(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	for name, opts := range map[string][]otlp.Option{
		"in memory": {otlp.WithSampleTimestamps()},
		"off":       nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &backend{t: t}
			b.fault = func(b *backend, w http.ResponseWriter, r *http.Request) {
				status(http.StatusServiceUnavailable, "")(b, w, r)
				b.heal()
			}
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
			if err := e.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			_, messages := b.received()
			if len(messages) != 1 || e.Status().Retries == 0 {
				t.Fatalf("%s: %d messages, %+v", name, len(messages), e.Status())
			}
			profiles := messages[0].ResourceProfiles[0].ScopeProfiles[0].Profiles
			sample := profiles[0].Samples[0]
			var got []int64
			for _, at := range sample.TimestampsUnixNano {
				got = append(got, int64(at))
			}
			if want := len(opts) > 0; want != slices.Equal(got, times) || want != (sample.Values == nil) || len(profiles) != 1 {
				t.Errorf("%s: timestamps %v, values %v", name, got, sample.Values)
			}
		})
	}
}
