// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// exportTens exports windows of ten seconds, the i-th of which has i+1 samples. Windows do not
// begin to the nanosecond where the last one ended.
func exportTens(t *testing.T, s *store.Store, from, until int) {
	t.Helper()
	for i := from; i < until; i++ {
		b := newProfileBuilder()
		b.add(int64(i+1), labels(slowID, "GET /search"), "main.search")
		start := epoch.Add(time.Duration(i)*10*time.Second + time.Duration(i%3)*time.Microsecond)
		if err := s.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second, Resource: shop}, b.profile)); err != nil {
			t.Fatal(err)
		}
	}
}

func preset(t *testing.T, s store.Source, name string) *answer.Preset {
	t.Helper()
	return presetOf(t, s, ".cpu", name)
}

func presetOf(t *testing.T, s store.Source, query, name string) *answer.Preset {
	t.Helper()
	var line answer.Timeline
	getJSON(t, viewer.Handler(s), target("/timeline", "query", query), http.StatusOK, &line)
	for i := range line.Presets {
		if line.Presets[i].Name == name {
			return &line.Presets[i]
		}
	}
	return nil
}

// sides returns the samples on both sides of a preset.
func sides(t *testing.T, s store.Source, p *answer.Preset) (left, right int64) {
	t.Helper()
	c := presetComparison(t, s, p)
	return c.Left.Samples, c.Right.Samples
}

func presetComparison(t *testing.T, s store.Source, p *answer.Preset) (c answer.Comparison) {
	t.Helper()
	params := []string{"format", "json", "leftQuery", p.Left.Query, "rightQuery", p.Right.Query}
	if p.Left.From != 0 {
		for name, at := range map[string]int64{"leftFrom": p.Left.From, "leftUntil": p.Left.Until, "rightFrom": p.Right.From, "rightUntil": p.Right.Until} {
			params = append(params, name, strconv.FormatInt(at, 10))
		}
	}
	getJSON(t, viewer.Handler(s), target("/comparison-diff", params...), http.StatusOK, &c)
	return c
}

// The last five minutes are compared with the five before, each window on one side; of fewer
// profiles with less, which is said.
func TestPresetOfTheLastMinutes(t *testing.T) {
	sum := func(from, until int) (n int64) {
		for i := from; i < until; i++ {
			n += int64(i + 1)
		}
		return n
	}
	for windows, want := range map[int]struct {
		title, note string
		cut         [3]int // the first window of the left side, that of the right, and the end
	}{
		72: {"Last 5 min against the 5 before", "", [3]int{12, 42, 72}},
		60: {"Last 5 min against the 5 before", "", [3]int{0, 30, 60}},
		45: {"Last 3 min 40 s against the 3 min 40 s before", "the profiles go back 7 min 30 s, less than twice 5 min", [3]int{1, 23, 45}},
		2:  {"Last 10 s against the 10 s before", "the profiles go back 20 s, less than twice 5 min", [3]int{0, 1, 2}},
		1:  {"Last 5 min against the 5 before", "no profile is held of the time just before the last 10 s", [3]int{}},
	} {
		s := newStore(t)
		exportTens(t, s, 0, windows)
		p := preset(t, s, "recent")
		if p == nil || p.Title != want.title || p.Note != want.note {
			t.Errorf("of %d windows: %+v", windows, p)
			continue
		}
		if p.Left == nil {
			if windows > 1 {
				t.Errorf("of %d windows no sides", windows)
			}
			continue
		}
		left, right := sides(t, s, p)
		if c := want.cut; left != sum(c[0], c[1]) || right != sum(c[1], c[2]) {
			t.Errorf("of %d windows: %d and %d samples, want %d and %d", windows, left, right, sum(c[0], c[1]), sum(c[1], c[2]))
		}
	}
	if p := preset(t, newStore(t), "recent"); p != nil {
		t.Errorf("without windows: %+v", p)
	}
}

// Services have windows of their own: one of them around the middle is on both sides.
func TestPresetOfTheLastMinutesOfServices(t *testing.T) {
	s := newStore(t)
	exportTens(t, s, 0, 4)
	cart := resource.NewSchemaless(attribute.String("service.name", "cart"))
	for i := range 3 {
		window := exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(10*i+5) * time.Second), Duration: 10 * time.Second, Resource: cart}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, newProfileBuilder().profile)); err != nil {
			t.Fatal(err)
		}
	}
	const both = "profiles that began before the last 20 s and ended in them count on both sides; "
	const short = "the profiles go back 40 s, less than twice 5 min"
	for query, want := range map[string]string{".cpu": both + short, "shop.cpu": short} {
		if p := presetOf(t, s, query, "recent"); p == nil || p.Note != want {
			t.Errorf("%s: %+v, want the note %q", query, p, want)
		}
	}
}

// Time without profiles is no side of a comparison.
func TestPresetAfterAGap(t *testing.T) {
	s := newStore(t)
	exportTens(t, s, 0, 3)
	exportTens(t, s, 400, 403)
	p := preset(t, s, "recent")
	if p == nil || p.Left != nil || p.Note != "no profile is held of the time just before the last 30 s" {
		t.Errorf("after an hour without profiles: %+v, %+v", p, p.Left)
	}
}

// What asks for a service or a version in its conditions is compared with more of the same, and
// each version was profiled for as long as its own windows.
func TestPresetsOfConditionsOnServices(t *testing.T) {
	s := newStore(t)
	for i, of := range [][2]string{{"cart", "v1"}, {"cart", "v1"}, {"cart", "v2"}, {"shop", "v3"}} {
		b := newProfileBuilder()
		b.add(int64(i+1), labels(slowID, "GET /search"), "main.search")
		window := exporter.Window{
			Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * 10 * time.Second), Duration: 10 * time.Second,
			Resource: resource.NewSchemaless(attribute.String("service.name", of[0]), attribute.String("service.version", of[1])),
		}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, b.profile)); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		`.cpu{service_name="cart"}`: `.cpu{service_name="cart",service_version="v2"}`,
		`cart.cpu`:                  `cart.cpu{service_name="cart",service_version="v2"}`,
		`.cpu{service_name=~"ca.*",service_version=~"v.",span_name="GET /search"}`: `.cpu{span_name="GET /search",service_name="cart",service_version="v2"}`,
	} {
		p := presetOf(t, s, query, "version")
		if p == nil || p.Title != "Version v2 against v1" || p.Right.Query != want {
			t.Errorf("%s: %+v", query, p)
			continue
		}
		c := presetComparison(t, s, p)
		if c.Left.Samples != 3 || c.Right.Samples != 3 || c.Left.ProfiledNs != 20e9 || c.Right.ProfiledNs != 10e9 {
			t.Errorf("%s: %d samples in %d ns and %d in %d", query, c.Left.Samples, c.Left.ProfiledNs, c.Right.Samples, c.Right.ProfiledNs)
		}
		if p := presetOf(t, s, query, "recent"); p == nil || p.Left == nil || p.Title != "Last 10 s against the 10 s before" {
			t.Errorf("%s: the last minutes are %+v", query, p)
		}
	}
	if p := presetOf(t, s, `.cpu{service_version="v1"}`, "version"); p != nil {
		t.Errorf("one version is compared with another: %+v", p)
	}
	// The windows of one kind alone count, and gaps do not.
	exportSecond(t, s, 100, newProfileBuilder())
	var c answer.Comparison
	getJSON(t, viewer.Handler(s), target("/comparison-diff", "format", "json", "leftQuery", ".cpu", "rightQuery", `.cpu{profile_id="`+slowID+`"}`, "rightFrom", strconv.FormatInt(epoch.Add(15*time.Second).UnixMilli(), 10)), http.StatusOK, &c)
	if c.Left.ProfiledNs != 50e9 || c.Right.ProfiledNs != 40e9 {
		t.Errorf("profiled for %d and %d ns", c.Left.ProfiledNs, c.Right.ProfiledNs)
	}
}
