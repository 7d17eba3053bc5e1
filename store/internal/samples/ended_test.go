// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples_test

import (
	"maps"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// after adds the label of samples taken after the end of a span.
func after(labels map[string]string, span string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["ended_span_id"] = span
	return labels
}

func TestEnded(t *testing.T) {
	at := []time.Duration{tick, 2 * tick}
	gone := ident.Key(0x77)
	w, _ := build(t,
		timed{labels: ids(1), at: at},
		timed{labels: after(nil, gone.String()), at: at},
		timed{labels: after(ids(1), gone.String()), at: at[:1]},
		timed{labels: after(nil, ident.Key(0x78).String()), at: at[:1]},
		timed{labels: after(nil, "no id of a span"), at: at[:1]},
	)
	check := func(w *samples.Window) {
		t.Helper()
		sums := map[ident.Key]time.Duration{}
		w.EachEnded(func(span ident.Key, cpu time.Duration, samples int64) {
			if cpu != time.Duration(samples)*tick {
				t.Errorf("%v in %d samples", cpu, samples)
			}
			sums[span] += cpu
		})
		if want := map[ident.Key]time.Duration{gone: 3 * tick, 0x78: tick}; !maps.Equal(sums, want) {
			t.Errorf("after the ends: %v, want %v", sums, want)
		}
		var cpu time.Duration
		for _, g := range w.FindEnded(nil, gone) {
			if g.Ended() != gone {
				t.Errorf("group of %v", g.Ended())
			}
			if _, ok := g.Labels().Lookup("ended_span_id"); ok {
				t.Error("the id is among the labels that groups share")
			}
			of, _ := g.CPU()
			cpu += of
		}
		if cpu != 3*tick {
			t.Errorf("found %v, want %v", cpu, 3*tick)
		}
		// They are of the spans that their own ids name.
		cpu = 0
		for _, g := range w.Find(nil, ids(1)["span_id"], 1) {
			of, _ := g.CPU()
			cpu += of
		}
		if cpu != 3*tick {
			t.Errorf("of the span: %v, want %v", cpu, 3*tick)
		}
		if got := w.Find(nil, gone.String(), gone); got != nil {
			t.Errorf("the ended span has %v", got)
		}
	}
	check(&w)
	// What is kept of a window has them too; the groups without ids stay behind.
	var groups []int
	for g := range w.OfSpans() {
		groups = append(groups, g.Index)
	}
	if len(groups) != 4 {
		t.Errorf("groups %v, want 4: that without a span's id is of no span", groups)
	}
	part := cut(&w, groups)
	check(&part)
	// Another label of that name is like any other.
	texts := 0
	for i := range w.Groups() {
		if v, ok := (samples.Group{Window: &w, Index: i}).Labels().Lookup("ended_span_id"); ok && v == "no id of a span" {
			texts++
		}
	}
	if texts != 1 {
		t.Errorf("%d groups with a label that is no id, want 1", texts)
	}
}

// TestEndedDisowns has samples that name the span both as their own and as ended.
func TestEndedDisowns(t *testing.T) {
	labels := after(ids(1), ids(1)["span_id"])
	labels["span_name"], labels["tenant"] = "GET /", "a"
	w, _ := build(t, timed{labels: labels, at: []time.Duration{tick}})
	g := samples.Group{Window: &w}
	if g.SpanID() != "" || g.ProfileID() != "" || g.Labels().SpanName() != "" || g.Ended() != 1 {
		t.Errorf("ids %q and %q, name %q, ended %v", g.SpanID(), g.ProfileID(), g.Labels().SpanName(), g.Ended())
	}
	if g.Labels().Value("tenant") != "a" {
		t.Error("a label of the program is lost")
	}
}
