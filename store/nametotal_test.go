// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/spanprof/spanprof/exporter"
)

// Samples carry a name that was cut, "other", or one from before SetName.
func TestLabelOfSamples(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	_, early := tracer.Start(t.Context(), "GET /checkout", at(0))
	_, late := tracer.Start(t.Context(), "GET /checkout", at(0))
	early.End(at(0.5))
	late.End(at(0.6))
	id := idOf(early)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"f", 1, labels("profile_id", id, "span_id", id, "span_name", "other")},
		sample{"f", 1, labels("profile_id", id, "span_id", "00000000000000cc", "span_name", "child")},
		sample{"f", 1, labels("profile_id", "00000000000000bb", "span_name", "child")},
	)))
	for id, want := range map[string]string{id: "other", idOf(late): "", "00000000000000cc": "child", "00000000000000bb": "child"} {
		if got, ok := s.Span(id); !ok || got.Label != want {
			t.Errorf("span %s has the label %q, want %q", id, got.Label, want)
		}
	}
	if got := s.NameTotals()[0]; got.Name != "GET /checkout" || got.Spans != 2 || got.Label != "other" && got.Label != "child" || got.CPU != 2*tick {
		t.Errorf("%+v", got)
	}
}
