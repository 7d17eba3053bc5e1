// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

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
	for _, test := range []struct {
		found     []viewer.Finding
		list, log string
	}{
		{nil, "", "check all 33 checks pass"},
		{[]viewer.Finding{fewNames}, "", "check span-names-too-many (note): 256 names. Use fewer."},
		{[]viewer.Finding{notWrapped, fewNames}, "check provider-not-wrapped (wrong): 7 spans have no labels. Wrap the provider.", "check span-names-too-many (note): 256 names. Use fewer."},
	} {
		h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status {
			return viewer.Status{Running: true, SelfCheck: viewer.SelfCheck{Checks: 33, Findings: test.found}}
		}))
		want := &answer.SelfCheck{Checks: 33, Findings: []answer.Finding{}}
		for _, f := range test.found {
			want.Findings = append(want.Findings, answer.Finding(f))
		}
		for _, address := range []string{"/?format=json", "/log?format=json", target("/", "query", byID(slowID), "format", "json")} {
			var got struct{ Status answer.Status }
			getJSON(t, h, address, http.StatusOK, &got)
			if diff := cmp.Diff(want, got.Status.SelfCheck); diff != "" {
				t.Errorf("%s (-want +got)\n%s", address, diff)
			}
		}
		list, log := flat(t, h, "/?format=text"), flat(t, h, "/log?format=text")
		if !strings.Contains(list, test.list) || strings.Contains(list, "256 names") || test.list == "" && strings.Contains(list, "check ") || !strings.Contains(log, test.log) {
			t.Errorf("%q is not in the list, or more than that:\n%s\n%s", test.list, list, log)
		}
	}
}
