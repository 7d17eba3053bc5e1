// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/viewer"
)

// The answer to a common mistake says what to write instead.
func TestHints(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for name, test := range map[string]struct {
		query, until string
		want         string
	}{
		"a span's name alone":        {"GET /search", "", `for the spans of that name ask for .cpu{span_name="GET /search"}`},
		"a label of another style":   {`.cpu{spanName="x"}`, "", `the label "spanName" is spelt span_name`},
		"a resource attribute":       {`.cpu{service.version="x"}`, "", `the label "service.version" is spelt service_version`},
		"a time before all profiles": {".cpu", strconv.FormatInt(epoch.Add(-time.Hour).Unix(), 10), "the first that is held begins at 2026-11-01 12:00:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := []string{"format", "text", "query", test.query}
			if test.until != "" {
				pairs = append(pairs, "until", test.until)
			}
			got := get(t, h, target("/", pairs...)).Body.String()
			if oneLine := strings.Join(strings.Fields(got), " "); !strings.Contains(oneLine, test.want) {
				t.Errorf("%q is not in\n%s", test.want, got)
			}
		})
	}
}
