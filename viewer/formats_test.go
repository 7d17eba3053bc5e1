// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/viewer"
)

func TestFormatsOfEveryView(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	folded := get(t, h, target("/", "query", byID(slowID), "format", "folded")).Body.String()
	want := "main.serve;json.Marshal 50000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack 400000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack;regexp.step 100000000\n"
	if folded != want {
		t.Errorf("folded\n%s", folded)
	}
	for _, address := range []string{"/?format=pprof", target("/comparison", "query", ".cpu", "format", "pprof"), "/timeline?query=.cpu&format=text"} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "this page has no") {
			t.Errorf("GET %s: status %d, %q", address, w.Code, w.Body)
		}
	}
}
