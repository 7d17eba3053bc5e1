// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"cmp"
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

// Many matchers on labels select the same as the labels in a profile.
func TestManyMatchers(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	matchers := []store.Matcher{matcher(t, "span_name", store.MatchNotEqual, "import"), matcher(t, "trace_id", store.MatchNotEqual, "")}
	for i := range 20000 {
		matchers = append(matchers, matcher(t, "span_name", store.MatchNotEqual, fmt.Sprint("a", i)))
	}
	q := store.Query{Kind: exporter.KindCPU, Matchers: matchers}
	sel, err := s.Select(q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Profile(store.Query{Kind: exporter.KindCPU, IDs: true})
	if err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, sample := range p.Sample {
		if !slices.Equal(sample.Label["span_name"], []string{"import"}) && len(sample.Label["trace_id"]) > 0 {
			all += sample.Value[0]
		}
	}
	if sel.Samples != all || all == 0 {
		t.Errorf("got %d samples, want %d", sel.Samples, all)
	}
}

// TestSums compares sums by labels with sums by group, which a matcher on an id needs.
func TestSums(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	anyID := matcher(t, "trace_id", store.MatchRegexp, ".*")
	for _, kind := range []exporter.Kind{exporter.KindCPU, exporter.KindGoroutine} {
		for name, matchers := range map[string][]store.Matcher{
			"all":      nil,
			"name":     {matcher(t, "span_name", store.MatchRegexp, ".*resource1.*")},
			"service":  {matcher(t, "service_name", store.MatchEqual, "service 1")},
			"own":      {matcher(t, "service_name", store.MatchEqual, "own")},
			"no match": {matcher(t, "service_name", store.MatchEqual, "none")},
		} {
			of := store.Query{Kind: kind, Matchers: matchers, Labels: []string{"span_name", "service_name"}, Steps: true}
			got, err := s.Samples(of)
			if err != nil {
				t.Fatal(err)
			}
			of.Matchers = append(slices.Clip(matchers), anyID)
			want, err := s.Samples(of)
			if err != nil {
				t.Fatal(err)
			}
			byLabels := func(a, b store.Sum) int {
				return cmp.Or(a.Start.Compare(b.Start), slices.Compare(a.Labels, b.Labels))
			}
			slices.SortFunc(got.Sums, byLabels)
			slices.SortFunc(want.Sums, byLabels)
			if diff := gocmp.Diff(want.Sums, got.Sums); diff != "" {
				t.Errorf("%s, %s: %s", kind, name, diff)
			}
			sel, err := s.Select(store.Query{Kind: kind, Matchers: matchers})
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, s := range got.Sums {
				sum += s.Value
			}
			if !got.Momentary && sum != sel.Total || (sum == 0) != (name == "no match" || name == "own" && kind == exporter.KindGoroutine) {
				t.Errorf("%s, %s: sums of %d, selection of %d", kind, name, sum, sel.Total)
			}
		}
	}
}

// Equal queries have equal answers, down to the order of stacks.
func TestSelectionOrder(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	first, again := selectCPU(t, s), selectCPU(t, s)
	if len(first.Stacks) < 100 {
		t.Fatalf("%d stacks", len(first.Stacks))
	}
	for i, sv := range first.Stacks {
		if other := again.Stacks[i]; sv.Value != other.Value || len(sv.Stack) != len(other.Stack) || len(sv.Stack) > 0 && sv.Stack[0].Address != other.Stack[0].Address {
			t.Fatalf("the stack at %d is another one", i)
		}
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
