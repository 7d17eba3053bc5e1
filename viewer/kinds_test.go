// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// exportKind exports one sample of a kind.
func exportKind(t *testing.T, s *store.Store, kind exporter.Kind, sampleType, unit string, labels map[string][]string) {
	t.Helper()
	b := newProfileBuilder()
	b.profile.SampleType = []*profile.ValueType{{Type: sampleType, Unit: unit}}
	b.profile.PeriodType = nil
	b.addValues([]int64{3}, labels, "sync.(*Mutex).Lock", "main.serve")
	export(t, s, shop, kind, b.profile)
}

// A span links to its profiles of other kinds, the process to profiles of all kinds.
func TestKinds(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	exportKind(t, s, exporter.KindWall, "wall", "nanoseconds", labels(slowID, "GET /search"))
	exportKind(t, s, exporter.KindGoroutine, "goroutine", "count", labels(fastID, "GET /search"))
	exportKind(t, s, exporter.KindMutex, "delay", "nanoseconds", nil)
	exportKind(t, s, exporter.KindHost, "samples", "nanoseconds", labels(slowID, "GET /search"))
	for query, want := range map[string][]string{
		byID(slowID):                         {"cpu", "wall", "host"},
		byID(fastID):                         {"cpu", "goroutine"},
		byID(shortID):                        {"cpu"},
		`.wall{profile_id="` + fastID + `"}`: {"cpu", "wall", "goroutine"},
		`.alloc_objects`:                     {"cpu", "wall", "host", "goroutine", "inuse_space", "alloc_space", "alloc_objects", "mutex_duration"},
		`.cpu{service_name="shop"}`:          {"cpu", "wall", "host", "goroutine", "inuse_space", "alloc_space", "mutex_duration"},
		`.cpu{service_name="other"}`:         {"cpu"},
	} {
		a := profileOf(t, h, query)
		var got []string
		for _, k := range a.Kinds {
			got = append(got, k.Type)
			other := profileOf(t, h, k.Query)
			if other.Query != k.Query || (other.Total == 0) != (k.Samples == 0) {
				t.Errorf("%s: %s has a total of %d, and %d samples are announced", query, k.Query, other.Total, k.Samples)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: kinds %v, want %v", query, got, want)
		}
	}
	text := get(t, h, target("/", "query", byID(slowID), "format", "text")).Body.String()
	if want := `also     shop.wall{profile_id="` + slowID + `"}  (wall time)`; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	a := profileOf(t, h, `.mutex_duration{profile_id="`+slowID+`"}`)
	if !strings.Contains(a.Empty, "mutex profiles carry no label") {
		t.Errorf("empty because %q", a.Empty)
	}
}

func TestTitles(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for query, want := range map[string]string{
		`.goroutine`:       "Whole process: goroutines",
		`.cpu{tenant="a"}`: `.cpu{tenant="a"}`,
		`.cpu{service_name="shop",service_version="v2"}`: "shop version v2",
		`.cpu{service_version="v2",tenant="a"}`:          `.cpu{service_version="v2",tenant="a"}`,
		`.cpu{trace_id="ab"}`:                            "Trace ab",
	} {
		a := profileOf(t, h, query)
		if a.Title != want {
			t.Errorf("%s: title %q, want %q", query, a.Title, want)
		}
	}
}
