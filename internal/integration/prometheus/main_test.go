// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
)

// The slowest request names its PromQL, and its samples and those of all requests with
// this query are in Prometheus's engine.
func TestSlowQueryIsNamed(t *testing.T) {
	p, err := profile(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Shutdown(t.Context()) }()
	db, err := open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	deadline, _ := t.Deadline()
	for rounds := 1; ; rounds *= 2 {
		for range rounds {
			if err := db.serve(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		missing := missing(t, p.Handler(), p.Store())
		if missing == "" {
			return
		}
		if deadline.IsZero() || time.Until(deadline) < time.Minute || rounds > 256 {
			t.Fatal(missing)
		}
		t.Logf("after %d rounds: %s", rounds, missing)
	}
}

// missing says what is not there yet.
func missing(t *testing.T, page http.Handler, s *store.Store) string {
	t.Helper()
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	hungriest, err := v.Spans(store.SpanQuery{Order: store.MostCPU, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(hungriest) == 0 || hungriest[0].CPUSamples == 0 {
		return "no span has samples"
	}
	query := ""
	for _, a := range hungriest[0].Attributes {
		if a.Key == "query" && a.Child != "" {
			query = a.Value
		}
	}
	if !strings.Contains(query, "rate(http_requests_total[30m])") {
		return fmt.Sprintf("the span with most CPU time has the attributes %+v, want the slow query", hungriest[0].Attributes)
	}
	var list struct {
		Spans []struct {
			Attributes []store.Attribute
			Query      string
		}
	}
	get(t, page, "?format=json&order=cpu&limit=1&filter="+url.QueryEscape("rate("), &list)
	if len(list.Spans) != 1 || len(list.Spans[0].Attributes) == 0 {
		t.Fatalf("the page lists %+v", list)
	}
	quoted, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	for name, ql := range map[string]string{"the span": list.Spans[0].Query, "all of this query": ".cpu{span.query=" + string(quoted) + "}"} {
		var profile struct {
			Total     int64
			Functions []struct{ Name string }
		}
		get(t, page, "?format=json&query="+url.QueryEscape(ql), &profile)
		found := false
		for _, f := range profile.Functions {
			found = found || strings.HasPrefix(f.Name, "github.com/prometheus/prometheus/promql.")
		}
		if !found {
			return name + " has no frame of promql"
		}
	}
	return ""
}

func get(t *testing.T, h http.Handler, target string, to any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/"+target, http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %s", target, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		t.Fatal(err)
	}
}
