// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// fillWindows puts in windows of two services and two kinds.
func fillWindows(t *testing.T, s *Store) {
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

// Many matchers on labels are asked about each label set once, however many groups
// have it, and select what the groups do by themselves.
func TestManyMatchers(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	matchers := []Matcher{matcher(t, "span_name", MatchNotEqual, "import"), matcher(t, "trace_id", MatchNotEqual, "")}
	for i := range 20000 {
		matchers = append(matchers, matcher(t, "span_name", MatchNotEqual, fmt.Sprint("a", i)))
	}
	q := Query{Kind: exporter.KindCPU, Matchers: matchers}
	kept, windows := s.held().kept, s.held().windows
	matches := q.matches(slices.Values(kept), ofKind(windows, q.Kind))
	groups := 0
	for _, m := range matches {
		for g := range m.groups() {
			groups++
			if g.labels().get(spanNameLabel) == "import" || g.traceID() == "" {
				t.Error("not selected:", g.labels())
			}
		}
	}
	sets := make(map[labelsOf]bool)
	all := 0
	for _, w := range windows {
		if w.kind != exporter.KindCPU {
			continue
		}
		for i := range w.groups {
			g := group{w, i}
			sets[labelsOf{g.labels(), w.service, w.version}] = true
			if g.labels().get(spanNameLabel) != "import" && g.traceID() != "" {
				all++
			}
		}
	}
	if groups != all || groups == 0 {
		t.Errorf("%d groups, want %d", groups, all)
	}
	if asked := len(matches[0].matcher.answers); asked != len(sets) {
		t.Errorf("asked about %d label sets of %d", asked, len(sets))
	}
}

// TestTimelineSums compares the sums that windows keep with those of the samples,
// which a matcher on an id asks for.
func TestTimelineSums(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	anyID := matcher(t, "trace_id", MatchRegexp, ".*")
	for _, kind := range []exporter.Kind{exporter.KindCPU, exporter.KindGoroutine} {
		for name, matchers := range map[string][]Matcher{
			"all":      nil,
			"name":     {matcher(t, "span_name", MatchRegexp, ".*resource1.*")},
			"service":  {matcher(t, "service_name", MatchEqual, "service 1")},
			"own":      {matcher(t, "service_name", MatchEqual, "own")},
			"no match": {matcher(t, "service_name", MatchEqual, "none")},
		} {
			for _, n := range []int{0, 3, 1000} {
				got, err := s.Timeline(Query{Kind: kind, Matchers: matchers}, n)
				if err != nil {
					t.Fatal(err)
				}
				want, err := s.Timeline(Query{Kind: kind, Matchers: append(slices.Clip(matchers), anyID)}, n)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, %d names: %s", kind, name, n, diff)
				}
				sel, err := s.Select(Query{Kind: kind, Matchers: matchers})
				if err != nil {
					t.Fatal(err)
				}
				sum := int64(0)
				for _, b := range got.Buckets {
					sum += b.Rest
					for _, v := range b.Values {
						sum += v
					}
				}
				if sum != sel.Total || len(got.Buckets) != 3 || (sum == 0) != (name == "no match" || name == "own" && kind == exporter.KindGoroutine) {
					t.Errorf("%s, %s: timeline of %d, selection of %d", kind, name, sum, sel.Total)
				}
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
		if other := again.Stacks[i]; sv.Value != other.Value || !slices.Equal(sv.Stack.Locations, other.Stack.Locations) {
			t.Fatalf("the stack at %d is another one", i)
		}
	}
}

func TestSpanNames(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	for name, test := range map[string]struct {
		matcher Matcher
		want    []string
	}{
		"one":          {matcher(t, "profile_id", MatchEqual, "job"), []string{"import"}},
		"two":          {matcher(t, "span_name", MatchRegexp, "import|.*/resource7"), []string{"GET /api/v1/resource7", "import"}},
		"without":      {matcher(t, "span_name", MatchEqual, ""), []string{""}},
		"no such span": {matcher(t, "span_id", MatchEqual, "none"), nil},
	} {
		if diff := cmp.Diff(test.want, selectCPU(t, s, test.matcher).SpanNames); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	all := selectCPU(t, s).SpanNames
	if len(all) != maxSpanNames || len(slices.Compact(slices.Clone(all))) != maxSpanNames || !slices.IsSorted(all) {
		t.Errorf("all: %q", all)
	}
}
