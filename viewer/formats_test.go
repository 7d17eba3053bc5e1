// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/viewer"
)

func TestFormatsOfEveryView(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	left, right := `.cpu{span_name="GET /search"}`, byID(slowID)
	folded := get(t, h, target("/", "query", right, "format", "folded")).Body.String()
	want := "main.serve;json.Marshal 50000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack 400000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack;regexp.step 100000000\n"
	if folded != want {
		t.Errorf("folded\n%s", folded)
	}
	diff := get(t, h, target("/comparison-diff", "leftQuery", left, "rightQuery", right, "format", "folded")).Body.String()
	if !strings.HasPrefix(diff, "main.serve;json.Marshal 110000000 50000000\n") {
		t.Errorf("folded comparison\n%s", diff)
	}

	for address, total := range map[string]int64{
		target("/profile", "query", ".cpu"): 77e7,
		// 550 ms of the span, less as much of the baseline.
		target("/comparison", "leftQuery", left, "rightQuery", right, "format", "pprof"): 0,
	} {
		w := get(t, h, address)
		p, err := profile.ParseData(w.Body.Bytes())
		if err != nil || w.Code != http.StatusOK {
			t.Errorf("GET %s: status %d, %v", address, w.Code, err)
			continue
		}
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[1]
		}
		// Scaling rounds every sample.
		if sum < total-10 || sum > total+10 {
			t.Errorf("GET %s: %d ns, want %d", address, sum, total)
		}
	}
	for _, address := range []string{"/?format=pprof", "/timeline?query=.cpu&format=text"} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "this page has no") {
			t.Errorf("GET %s: status %d, %q", address, w.Code, w.Body)
		}
	}
}
