// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flameql"
)

// Goroutines of several spans of a name at one place are one stack. Those without a name are last
// of as many.
func TestLeaked(t *testing.T) {
	at := func(line int64) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: "main.wait", Filename: "/src/main.go"}, Line: line}}}
	}
	sample := func(n, line int64, labels map[string][]string) *profile.Sample {
		return &profile.Sample{Location: []*profile.Location{at(line)}, Value: []int64{n}, Label: labels}
	}
	report := func(id string) map[string][]string {
		return map[string][]string{"span_name": {"GET /report"}, "profile_id": {id}}
	}
	p := &profile.Profile{Sample: []*profile.Sample{
		sample(1, 9, nil), sample(1, 8, report("1")), sample(2, 7, report("1")), sample(1, 7, report("2")),
	}}
	got := leaked(p, flameql.Query{Type: flameql.CPU})
	want := []Root{
		{
			Name: "GET /report", Goroutines: 4, Query: `.cpu{span_name="GET /report"}`,
			Stacks: []Stack{{3, []string{"main.wait  main.go:7"}}, {1, []string{"main.wait  main.go:8"}}},
		},
		{Name: "(no span)", Goroutines: 1, Query: `.cpu{span_name=""}`, Stacks: []Stack{{1, []string{"main.wait  main.go:9"}}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Root{})); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
	if text := (&Leaks{Names: got}).Text(); !strings.Contains(text, "GET /report leaked 4 goroutines  .cpu{") {
		t.Errorf("no sentence in\n%s", text)
	}
}
