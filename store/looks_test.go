// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store"
)

// exportLooks exports the n-th window of a service's wall time, with samples of ids. Looks
// are every apart.
func exportLooks(t *testing.T, s *store.Store, service string, n int, every time.Duration, ids ...string) {
	t.Helper()
	begin := epoch.Add(time.Duration(n) * step)
	var l looks.Looks
	for at := begin; at.Before(begin.Add(step)); at = at.Add(every) {
		l.Add(at, at.Add(every), 0, 0, 0)
	}
	var samples []sample
	for _, id := range ids {
		samples = append(samples, sample{"main;f", 1, labels("profile_id", id, "span_id", id, "span_name", "GET /")})
	}
	p := cpuProfile(samples...)
	p.SampleType[1].Type = "wall"
	p.Comments = []string{l.Comment()}
	w := exporter.Window{Kind: exporter.KindWall, Start: begin, Duration: step, Resource: resource.NewSchemaless(attribute.String("service.name", service))}
	export(t, s, exporter.NewParsedProfile(w, p))
}

// TestLooksOfASelection: the looks are from windows with samples and their neighbours of the
// same service. The profile has them too.
func TestLooksOfASelection(t *testing.T) {
	const id = "00000000000000b7"
	s := newStore(t)
	for i := range 5 {
		every, ids := time.Second, []string(nil)
		if i >= 2 {
			every = 100 * time.Millisecond
		}
		if i == 3 {
			ids = []string{id}
		}
		exportLooks(t, s, "shop", i, every, ids...)
		exportLooks(t, s, "other", i, time.Second)
	}
	query := store.Query{Kind: exporter.KindWall, Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, id)}}
	sel, err := s.Select(query)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Profile(query)
	if err != nil {
		t.Fatal(err)
	}
	const want = float64(100*time.Millisecond) * float64(100*time.Millisecond) // only other windows have looks 1 s apart
	for _, l := range []*looks.Looks{sel.Looks, looks.Parse(p.Comments)} {
		if n := l.N + int64(len(l.Long)); n != 300 {
			t.Errorf("got %d intervals, want 300 of three windows", n)
		}
		if got := l.Mean(); got < 0.99*want || got > 1.01*want {
			t.Errorf("the intervals have a mean square of %v, want %v", got, want)
		}
	}
}
