// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestLog(t *testing.T) {
	s := newTestStore(t)
	broken := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: time.Second, Resource: shop}, []byte("no profile"))
	if err := s.Export(t.Context(), broken); err == nil {
		t.Fatal("the store took what is no profile")
	}
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, WindowEnd: epoch.Add(10 * time.Second), Counters: []viewer.Counter{{Name: "windows dropped", Value: 3}, {Name: "CPU for wall samples", Value: 1_234_567, Unit: "nanoseconds"}}}
	}))
	var got answer.Log
	getJSON(t, h, "/log?format=json", http.StatusOK, &got)
	if got.Stats.ParseErrors != 1 {
		t.Errorf("status %+v, stats %+v", got.Status, got.Stats)
	}
	if c := got.Status.Counters; c[0].Unit != "" || c[1] != (answer.Counter{Name: "CPU for wall samples", Value: 1_234_567, Unit: "nanoseconds"}) {
		t.Errorf("counters %+v", c)
	}
	text := get(t, h, "/log?format=text").Body.String()
	for _, want := range []string{"windows dropped: 3\n", "CPU for wall samples: 1.23 ms\n", `"parseErrors": 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if page := get(t, h, "/log").Body.String(); !strings.Contains(page, "<!doctype html>") {
		t.Errorf("page %s", page)
	}
}
