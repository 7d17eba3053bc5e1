// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

func TestWallOfSpan(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	b := newWallBuilder()
	b.addValues([]int64{10, 7e8}, labels(slowID, "GET /search"), "runtime.chanrecv", "main.search", "main.serve")
	b.addValues([]int64{1, 6e7}, labels(fastID, "GET /search"), "time.Sleep", "main.search", "main.serve")
	export(t, s, shop, exporter.KindWall, b.profile)

	a := profileOf(t, h, `shop.wall{profile_id="`+slowID+`"}`)
	if a.Total != 7e8 || a.SampleType != "wall" || a.ErrorNs != 35e6 || a.Span == nil || a.Span.CPU != 55e7 {
		t.Errorf("got %+v of span %+v", a, a.Span)
	}
	// The samples of many spans are independent.
	a = profileOf(t, h, `shop.wall{span_name="GET /search"}`)
	if a.ErrorNs/1000 != int64(76e7/11*math.Sqrt(11))/1000 {
		t.Errorf("the error is %d", a.ErrorNs)
	}
}

// newWaitingStore returns a store with spans that only waited: they have samples
// of wall time alone.
func newWaitingStore(t *testing.T) (s *store.Store, id string) {
	t.Helper()
	s = newStore(t)
	id = endSpan(t, s, "GET /slow", 1, 2)
	exportSecond(t, s, 0, newProfileBuilder())
	b := newWallBuilder()
	b.addValues([]int64{7, 7e8}, labels(id, "GET /slow"), "time.Sleep", "main.slow")
	export(t, s, shop, exporter.KindWall, b.profile)
	return s, id
}

func newWallBuilder() *profileBuilder {
	b := newProfileBuilder()
	b.profile.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}}
	b.profile.PeriodType = &profile.ValueType{Type: "wall", Unit: "nanoseconds"}
	return b
}

// No link from a span that only waited leads to an empty page without links to others.
func TestSpanOfWallSamplesAlone(t *testing.T) {
	s, id := newWaitingStore(t)
	h := viewer.Handler(s)
	list := listOf(t, h)
	wall := `shop.wall{profile_id="` + id + `"}`
	if got := list.Spans[0].Query; got != wall {
		t.Errorf("the list leads to %s, want %s", got, wall)
	}

	a := profileOf(t, h, byID(id))
	if a.Empty == "" || a.Baseline != nil {
		t.Errorf("empty because %q, baseline %+v, want none", a.Empty, a.Baseline)
	}
	var types []string
	for _, k := range a.Kinds {
		types = append(types, fmt.Sprint(k.Type, " ", k.Samples))
	}
	if want := []string{"cpu 0", "wall 7"}; !slices.Equal(types, want) {
		t.Errorf("the kinds are %q, want %q", types, want)
	}
	text := get(t, h, target("/", "query", byID(id), "format", "text")).Body.String()
	if strings.Contains(text, "baseline") || !strings.Contains(text, wall) {
		t.Errorf("the text offers what is empty, or not what is there:\n%s", text)
	}

	a = profileOf(t, h, wall)
	if len(a.Kinds) != 2 || a.Kinds[0].Query != byID(id) || a.Kinds[0].Samples != 0 {
		t.Errorf("the kinds are %+v, want a way back to CPU", a.Kinds)
	}
	if a.Baseline == nil {
		t.Errorf("baseline %+v", a.Baseline)
	}
	if text = get(t, h, target("/", "query", wall, "format", "text")).Body.String(); strings.Contains(text, ".cpu{") {
		t.Errorf("the text offers CPU that was not used:\n%s", text)
	}
}
