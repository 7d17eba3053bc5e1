// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// What is remembered of the exemplars follows the profiles and the spans.
func TestExemplarsAreCurrent(t *testing.T) {
	s := newStore(t)
	job := func(n int, id string) {
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(sample{"main;job", 1, labels("profile_id", id, "span_name", "import")})))
	}
	check := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, span := range s.Spans(store.SpanQuery{}) {
			got = append(got, fmt.Sprintf("%s %d %t", span.ProfileID, span.CPUSamples, span.Manual))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		byName, samples := int64(0), selectCPU(t, s).Samples
		for _, total := range s.NameTotals() {
			if total.Name == "import" {
				byName += total.CPUSamples
			}
		}
		if byName != samples {
			t.Errorf("%s: %d samples by name, want %d", when, byName, samples)
		}
	}
	check("nothing")
	const child = "00000000000000aa"
	job(0, "a")
	job(1, child)
	check("two", child+" 1 true", "a 1 true")
	job(2, "a")
	check("one of them again", "a 2 true", child+" 1 true")
	s.SpanProcessor().OnEnd(tracetest.SpanStub{
		Name: "late", Resource: checkout, StartTime: epoch, EndTime: epoch.Add(step / 2),
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{7: 0xaa}}),
	}.Snapshot())
	check("a span", "a 2 true", child+" 1 false")
	runtime.GC()
	check("after a collection", "a 2 true", child+" 1 false")
	s.EvictOldest()
	check("without the oldest", "a 1 true", child+" 1 false")
}
