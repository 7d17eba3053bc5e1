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
// are every apart. With gap, the fifth second is a gap.
func exportLooks(t *testing.T, s *store.Store, service string, n int, every time.Duration, gap bool, ids ...string) {
	t.Helper()
	begin := epoch.Add(time.Duration(n) * step)
	var l looks.Looks
	for at := begin; at.Before(begin.Add(step)); at = at.Add(every) {
		l.Add(at, at.Add(every), 0, 0, 0)
	}
	if gap {
		l.AddGap(begin.Add(5*time.Second), begin.Add(6*time.Second), time.Second)
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

// TestLooksOfASelection: the looks are from windows with samples and their neighbours.
// The gaps are from all windows of the service, however many there are.
func TestLooksOfASelection(t *testing.T) {
	const n, id = 300, "00000000000000b7"
	s := newStore(t)
	for i := range n {
		every := time.Second
		if i >= 297 {
			every = 100 * time.Millisecond
		}
		var ids []string
		if i == 298 {
			ids = []string{id}
		}
		exportLooks(t, s, "shop", i, every, true, ids...)
		exportLooks(t, s, "other", i, time.Second, true)
	}
	sel, err := s.Select(store.Query{Kind: exporter.KindWall, Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, id)}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(window, second int) time.Time {
		return epoch.Add(time.Duration(window)*step + time.Duration(second)*time.Second)
	}
	for _, test := range []struct {
		from, until time.Time
		want        time.Duration
	}{
		{at(0, 0), at(n, 0), n * time.Second},
		{at(298, 6), at(299, 5), 0},
		{at(298, 5), at(298, 6), time.Second},
		{at(0, 6), at(1, 5), 0},
	} {
		if got := sel.Looks.Unwatched(test.from, test.until); got != test.want {
			t.Errorf("from %v until %v nobody looked for %v, want %v", test.from, test.until, got, test.want)
		}
	}
	if sel.LooksLength != n*step {
		t.Errorf("the windows are %v long, want %v", sel.LooksLength, n*step)
	}
	// Only other windows have looks 1 s apart.
	if got, want := sel.Looks.Mean(), float64(100*time.Millisecond)*float64(100*time.Millisecond); got < 0.99*want || got > 1.01*want {
		t.Errorf("intervals have a mean square of %v, want %v", got, want)
	}
	// The profile's list of gaps is bounded, but covers all of them.
	p, err := s.Profile(store.Query{Kind: exporter.KindWall, Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, id)}})
	if err != nil {
		t.Fatal(err)
	}
	if l := looks.Parse(p.Comments); l == nil || l.Unwatched(at(0, 0), at(n, 0)) != n*time.Second {
		t.Errorf("the profile's comments are %.100q", p.Comments)
	}
	// Without samples in any window, the service is unknown and all gaps count.
	none, err := s.Select(store.Query{Kind: exporter.KindWall, Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, "00000000000000c1")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := none.Looks.Unwatched(at(298, 0), at(299, 0)); got == 0 {
		t.Error("nothing is known of the looks around a span without samples")
	}
}
