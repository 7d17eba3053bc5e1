// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profhttp_test

import (
	"context"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// A scraper of wall time sees what a span waits for, also when the kind is
// switched on at run time.
func TestWall(t *testing.T) {
	p, _ := newProfiler(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWallBudget(0.1))
	start(t, p)
	base := serve(t, p)
	refused(t, base+"wall?seconds=1", http.StatusNotFound, "profiler.WithKinds")
	if err := p.Enable(t.Context(), exporter.KindWall); err != nil {
		t.Fatal(err)
	}

	release := make(chan struct{})
	defer close(release)
	go pprof.Do(context.Background(), pprof.Labels("span_id", "00000000000000aa"), func(context.Context) { <-release })

	for d := time.Second; ; d *= 2 {
		response, body := ask(t, http.MethodGet, base+"wall?seconds="+d.String()[:len(d.String())-1], "")
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", response.Status, body)
		}
		parsed, err := profile.ParseData([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var waited time.Duration
		for _, s := range parsed.Sample {
			if s.Label["span_id"][0] == "00000000000000aa" && strings.HasPrefix(s.Location[0].Line[0].Function.Name, "runtime.") {
				waited += time.Duration(s.Value[1])
			}
		}
		// By the time between rounds more or less.
		if waited > d/2 && waited < d*3/2 {
			return
		}
		if d >= 8*time.Second {
			t.Fatalf("the span waited %v by the profile of %v:\n%v", waited, d, parsed)
		}
	}
}
