// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestWallOfSpan(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	bySlow := target("/", "query", `shop.wall{profile_id="`+slowID+`"}`, "format", "json")
	var a answer.Profile
	getJSON(t, h, bySlow, http.StatusOK, &a)
	if !strings.Contains(a.Empty, "no wall profile covers this time") || a.Total != 0 {
		t.Errorf("without a wall profile: %d, empty because %q", a.Total, a.Empty)
	}

	b := newWallBuilder()
	b.addValues([]int64{10, 7e8}, labels(slowID, "GET /search"), "runtime.chanrecv", "main.search", "main.serve")
	b.addValues([]int64{1, 6e7}, labels(fastID, "GET /search"), "time.Sleep", "main.search", "main.serve")
	export(t, s, resource.NewSchemaless(attribute.String("service.name", "shop")), exporter.KindWall, b.profile)

	a = answer.Profile{}
	getJSON(t, h, bySlow, http.StatusOK, &a)
	if a.Total != 7e8 || a.Samples != 10 || a.SampleType != "wall" || a.Unit != "nanoseconds" || a.Empty != "" {
		t.Errorf("got %+v", a)
	}
	if want := []answer.Wait{{Class: "channel", Ns: 7e8, ErrorNs: 35e6}}; a.ErrorNs != 35e6 || !slices.Equal(a.Waits, want) {
		t.Errorf("the error is %d and the time was spent on %+v, want %+v", a.ErrorNs, a.Waits, want)
	}
	if a.Span == nil || a.Span.ProfileID != slowID || a.Span.CPUNs != 55e7 || a.Span.CPUSamples != 55 {
		t.Errorf("span %+v, want the CPU time that it has without the wall profile", a.Span)
	}
	if a.Baseline == nil || a.Baseline.Query != `shop.wall{span_name="GET /search"}` {
		t.Errorf("baseline %+v", a.Baseline)
	}

	short := target("/", "query", `shop.wall{profile_id="`+shortID+`"}`, "format", "json")
	a = answer.Profile{}
	getJSON(t, h, short, http.StatusOK, &a)
	if !strings.Contains(a.Empty, "no wall sample hit this span") || a.ExpectedSamples != 0 {
		t.Errorf("a span without samples is empty because %q", a.Empty)
	}

	// The interval between wall samples gives the number of samples to expect.
	told := viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true, WallInterval: 20 * time.Millisecond} }))
	a = answer.Profile{}
	getJSON(t, told, bySlow, http.StatusOK, &a)
	if a.ExpectedSamples != 40 {
		t.Errorf("%v samples are expected in 800 ms, want 40", a.ExpectedSamples)
	}
	text := get(t, told, strings.Replace(bySlow, "format=json", "format=text", 1)).Body.String()
	for _, want := range []string{"wall time 700 ms ± 35.0 ms in 10 samples of 1 profile id (40 expected for each goroutine), 1 window", "channel 700 ms ± 35.0 ms (100.0%)"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}

	// So it is by name; the samples of many spans are independent.
	a = answer.Profile{}
	getJSON(t, h, target("/", "query", `shop.wall{span_name="GET /search"}`, "format", "json"), http.StatusOK, &a)
	want := []answer.Wait{{Class: "channel", Ns: 7e8, ErrorNs: int64(76e7 / 11 * math.Sqrt(10.131578))}, {Class: "sleep", Ns: 6e7, ErrorNs: int64(76e7 / 11 * math.Sqrt(0.868421))}}
	if len(a.Waits) == 2 {
		for i := range a.Waits { // to a microsecond
			if got := a.Waits[i].ErrorNs; got/1000 == want[i].ErrorNs/1000 {
				want[i].ErrorNs = got
			}
		}
	}
	if !slices.Equal(a.Waits, want) || a.ErrorNs/1000 != int64(76e7/11*math.Sqrt(11))/1000 {
		t.Errorf("the error is %d and the time was spent on %+v, want %+v", a.ErrorNs, a.Waits, want)
	}
	a = answer.Profile{}
	getJSON(t, told, short, http.StatusOK, &a)
	if !strings.Contains(a.Empty, "no wall sample hit this span: it took 400 µs") {
		t.Errorf("a span without samples is empty because %q", a.Empty)
	}

	a = answer.Profile{}
	getJSON(t, h, target("/", "query", `shop.cpu{profile_id="`+slowID+`"}`, "format", "json"), http.StatusOK, &a)
	if a.Total != 55e7 || a.Windows != 1 {
		t.Errorf("its CPU is %d of %d windows", a.Total, a.Windows)
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
	var list answer.SpanList
	getJSON(t, h, "/?format=json", http.StatusOK, &list)
	wall := `shop.wall{profile_id="` + id + `"}`
	if got := list.Spans[0].Query; got != wall {
		t.Errorf("the list leads to %s, want %s", got, wall)
	}

	var a answer.Profile
	getJSON(t, h, target("/", "query", byID(id), "format", "json"), http.StatusOK, &a)
	if a.Empty == "" || a.Baseline == nil || !a.Baseline.Empty {
		t.Errorf("empty because %q, baseline %+v, want one that is empty", a.Empty, a.Baseline)
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

	a = answer.Profile{}
	getJSON(t, h, target("/", "query", wall, "format", "json"), http.StatusOK, &a)
	if len(a.Kinds) != 2 || a.Kinds[0].Query != byID(id) || a.Kinds[0].Samples != 0 {
		t.Errorf("the kinds are %+v, want a way back to CPU", a.Kinds)
	}
	if a.Baseline == nil || a.Baseline.Empty {
		t.Errorf("baseline %+v", a.Baseline)
	}
	if text = get(t, h, target("/", "query", wall, "format", "text")).Body.String(); strings.Contains(text, ".cpu{") {
		t.Errorf("the text offers CPU that was not used:\n%s", text)
	}
}

// Time without a look at goroutines is stated of a span that lacks it. Of a name its share of the
// time is stated.
func TestUnwatchedWall(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	b := newWallBuilder()
	// The process was stopped from 1.2 s to 1.6 s, and from 2.02 s to 2.08 s.
	var l looks.Looks
	for i := range 1000 {
		l.Add(at(10*i), at(10*i+10), 0, 0, 0)
	}
	l.AddGap(at(1200), at(1600), 400*time.Millisecond)
	l.AddGap(at(2020), at(2080), 60*time.Millisecond)
	b.profile.Comments = []string{l.Comment()}
	// Of 800 ms from 1 s on, found before and after the stop; of 100 ms from 2 s on, begun in it.
	b.addValues([]int64{40, 798e6}, labels(slowID, "GET /search"), "runtime.chanrecv", "main.search", "main.serve")
	b.addValues([]int64{4, 38e6}, labels(fastID, "GET /search"), "time.Sleep", "main.search", "main.serve")
	// It ended in the next window, and no look has found it in this.
	b.addValues([]int64{0, 1e9}, labels("00000000000000a5", "GET /late"), "time.Sleep", "main.late")
	export(t, s, resource.NewSchemaless(attribute.String("service.name", "shop")), exporter.KindWall, b.profile)

	for _, test := range []struct {
		query     string
		unwatched time.Duration
		share     float64
	}{
		{`shop.wall{profile_id="` + slowID + `"}`, 0, 0},
		{`shop.wall{profile_id="` + fastID + `"}`, 60 * time.Millisecond, 0},
		{`shop.wall{span_name="GET /search"}`, 0, 0.046},
	} {
		var a answer.Profile
		getJSON(t, h, target("/", "query", test.query, "format", "json"), http.StatusOK, &a)
		if time.Duration(a.UnwatchedNs) != test.unwatched || math.Abs(a.UnwatchedShare-test.share) > 1e-6 || a.ErrorNs == 0 {
			t.Errorf("%s: %v unwatched, %v of the time, ± %d, want %v and %v", test.query, time.Duration(a.UnwatchedNs), a.UnwatchedShare, a.ErrorNs, test.unwatched, test.share)
		}
	}
	// What is in a window by a look of the one before has an error, too.
	var a answer.Profile
	getJSON(t, h, target("/", "query", `shop.wall{span_name="GET /late"}`, "format", "json"), http.StatusOK, &a)
	if a.Total != 1e9 || a.ErrorNs != 1e9 {
		t.Errorf("%d ± %d, want a second in one look", a.Total, a.ErrorNs)
	}
}
