// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// fillWindows puts in windows of two services and two kinds.
func fillWindows(t *testing.T, s *store.Store) {
	t.Helper()
	g := newGenerator()
	for n := range 6 {
		p := g.profile(300)
		p.Sample = append(p.Sample, cpuProfile(
			sample{"main;f", 1, labels("profile_id", "job", "span_name", "import")},
			sample{"main;f", 2, labels("span_name", "import", "service_name", "own")},
		).Sample...)
		window := exporter.Window{
			Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(n/2) * step), Duration: step,
			Resource: resource.NewSchemaless(attribute.String("service.name", fmt.Sprint("service ", n%2))),
		}
		export(t, s, exporter.NewParsedProfile(window, p))
		window.Kind = exporter.KindGoroutine
		export(t, s, exporter.NewParsedProfile(window, g.profile(50)))
	}
}

func TestSpanNames(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	for name, test := range map[string]struct {
		matcher store.Matcher
		want    []string
	}{
		"one":          {matcher(t, "profile_id", store.MatchEqual, "job"), []string{"import"}},
		"two":          {matcher(t, "span_name", store.MatchRegexp, "import|.*/resource7"), []string{"GET /api/v1/resource7", "import"}},
		"without":      {matcher(t, "span_name", store.MatchEqual, ""), []string{""}},
		"no such span": {matcher(t, "span_id", store.MatchEqual, "none"), nil},
	} {
		if diff := gocmp.Diff(test.want, selectCPU(t, s, test.matcher).SpanNames); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	all := selectCPU(t, s).SpanNames
	if len(all) != 16 || len(slices.Compact(slices.Clone(all))) != 16 || !slices.IsSorted(all) {
		t.Errorf("all: %q", all)
	}
}
