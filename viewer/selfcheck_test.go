// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// checked returns a viewer with findings of the self-check.
func checked(s *store.Store, gaps string, found ...viewer.Finding) http.Handler {
	return viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
		return viewer.Status{Running: true, SelfCheck: viewer.SelfCheck{Checks: 33, Findings: found, Gaps: gaps}}
	}))
}

var (
	notWrapped = viewer.Finding{ID: "provider-not-wrapped", Severity: "wrong", Seen: "7 spans have no labels.", Do: "Wrap the provider."}
	fewNames   = viewer.Finding{ID: "span-names-too-many", Severity: "note", Seen: "256 names.", Do: "Use fewer."}
)

// flat returns the text form of a page with its lines joined.
func flat(t *testing.T, h http.Handler, address string) string {
	t.Helper()
	return strings.Join(strings.Fields(get(t, h, address).Body.String()), " ")
}

// The self-check is in the status of every answer, and in the text of the list and the log.
func TestSelfCheck(t *testing.T) {
	s := newTestStore(t)
	for name, test := range map[string]struct {
		h         http.Handler
		want      *answer.SelfCheck
		list, log string
	}{
		"none": {viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} })), nil, "", ""},
		"fine": {checked(s, ""), &answer.SelfCheck{Checks: 33, Findings: []answer.Finding{}}, "", "check all 33 checks pass"},
		"noted": {
			checked(s, "", fewNames), &answer.SelfCheck{Checks: 33, Findings: []answer.Finding{answer.Finding(fewNames)}},
			"", "check span-names-too-many (note): 256 names. Use fewer.",
		},
		"found": {
			checked(s, "", notWrapped, fewNames),
			&answer.SelfCheck{Checks: 33, Findings: []answer.Finding{answer.Finding(notWrapped), answer.Finding(fewNames)}},
			"check provider-not-wrapped (wrong): 7 spans have no labels. Wrap the provider.",
			"check span-names-too-many (note): 256 names. Use fewer.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"/?format=json", "/log?format=json", target("/", "query", byID(slowID), "format", "json")} {
				var got struct{ Status answer.Status }
				getJSON(t, test.h, address, http.StatusOK, &got)
				if diff := cmp.Diff(test.want, got.Status.SelfCheck); diff != "" {
					t.Errorf("%s (-want +got)\n%s", address, diff)
				}
			}
			list, log := flat(t, test.h, "/?format=text"), flat(t, test.h, "/log?format=text")
			if !strings.Contains(list, test.list) || strings.Contains(list, "256 names") || test.list == "" && strings.Contains(list, "check ") {
				t.Errorf("%q is not in the list, or more than that:\n%s", test.list, list)
			}
			if !strings.Contains(log, test.log) || test.log == "" && strings.Contains(log, "check ") {
				t.Errorf("%q is not in the log, or more than that:\n%s", test.log, log)
			}
		})
	}
}

// A list without a span shows all that was found.
func TestSelfCheckOfAnEmptyList(t *testing.T) {
	if text := flat(t, checked(newStore(t), "", fewNames), "/?format=text"); !strings.Contains(text, "256 names. Use fewer.") {
		t.Errorf("got %s", text)
	}
}

// Requests for the page within a span are a finding.
func TestPageListsItself(t *testing.T) {
	h := checked(newStore(t), "")
	findings := func() []answer.Finding {
		var list answer.SpanList
		getJSON(t, h, "/?format=json", http.StatusOK, &list)
		return list.Status.SelfCheck.Findings
	}
	if found := findings(); len(found) > 0 {
		t.Errorf("without a span: %+v", found)
	}
	for range 2 {
		ctx, span := sdktrace.NewTracerProvider().Tracer("otelhttp").Start(t.Context(), "GET /")
		do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", http.NoBody))
		span.End()
	}
	if found := findings(); len(found) != 1 || found[0].ID != "page-lists-itself" || !strings.HasPrefix(found[0].Seen, "2 requests for this page came within a span") {
		t.Errorf("after two requests within spans: %+v", found)
	}
}

// The section has how much of spans and CPU time there is in the profiles of spans.
func TestSelfCheckShares(t *testing.T) {
	s := newTestStore(t)
	ptr := func(share float64) *float64 { return &share }
	for name, test := range map[string]struct {
		check            viewer.SelfCheck
		sampled, outside *float64
		text             string
	}{
		"of both":       {viewer.SelfCheck{SpansStarted: 8, SpansSampled: 2, CPU: 4 * time.Second, CPUUnlabelled: 3 * time.Second}, ptr(0.25), ptr(0.75), "check 25.0 % of spans are sampled check 75.0 % of CPU time is in no span"},
		"of spans":      {viewer.SelfCheck{SpansStarted: 3}, ptr(0), nil, "check 0.0 % of spans are sampled"},
		"of CPU":        {viewer.SelfCheck{CPU: time.Second}, nil, ptr(0), "check 0.0 % of CPU time is in no span"},
		"of nothing":    {viewer.SelfCheck{SpansSampled: 1, CPUUnlabelled: 1}, nil, nil, ""},
		"of too much":   {viewer.SelfCheck{SpansStarted: 1, SpansSampled: 2, CPU: 1, CPUUnlabelled: 2}, ptr(1), ptr(1), "check 100.0 % of spans are sampled check 100.0 % of CPU time is in no span"},
		"of too little": {viewer.SelfCheck{CPU: 1, CPUUnlabelled: -1}, nil, ptr(0), "check 0.0 % of CPU time is in no span"},
	} {
		t.Run(name, func(t *testing.T) {
			test.check.Checks = 33
			h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true, SelfCheck: test.check} }))
			var got struct{ Status answer.Status }
			getJSON(t, h, "/log?format=json", http.StatusOK, &got)
			want := &answer.SelfCheck{Checks: 33, Findings: []answer.Finding{}, SampledShare: test.sampled, UnlabelledShare: test.outside}
			if diff := cmp.Diff(want, got.Status.SelfCheck); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			text := flat(t, h, "/log?format=text")
			if !strings.Contains(text, test.text) || test.text == "" && strings.Contains(text, "% of ") {
				t.Errorf("%q is not in the log, or more than that:\n%s", test.text, text)
			}
		})
	}
}
