// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"testing"

	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// A Profiler that is shut down without Start has measured nothing, and says so.
func TestShutdownWithoutStartIsReported(t *testing.T) {
	reports := hear(t, "shut down without Start: nothing was measured")
	for _, disabled := range []string{"", "true"} {
		t.Setenv("SPANPROF_DISABLED", disabled)
		p, err := profiler.New(new(exportertest.Recorder))
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Status(); s.NotStarted != (disabled == "") {
			t.Errorf("disabled %q: not started %t", disabled, s.NotStarted)
		}
		shutdown(t, p)
		if p.Status().NotStarted {
			t.Error("after Shutdown the status says that Start is missing")
		}
	}
	if n := reports(); n != 1 {
		t.Errorf("%d reports, want 1, of the one that the environment has not disabled", n)
	}
}
