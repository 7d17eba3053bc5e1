// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

// Values that a profiler does not write are an error, and no result that has numbers
// which JSON cannot write.
func TestHostileValues(t *testing.T) {
	for name, test := range map[string]struct {
		samples, nanoseconds int64
		want                 string // the error, "" for none
	}{
		"negative time":    {10, -1e9, "values below zero"},
		"negative count":   {-10, 1e9, "values below zero"},
		"no time":          {10, 0, "have no CPU time"},
		"no count":         {0, 1e9, "0 samples before and 0 after meet the conditions"},
		"far too much":     {1 << 62, 1 << 62, ""},
		"almost no sample": {1, 1 << 62, ""},
	} {
		c, side := newCPU(), compare.NewSide("")
		c.values("main.f", []int64{test.samples, test.nanoseconds})
		var err error
		for _, run := range []string{"a", "b", "c"} {
			if err == nil {
				err = side.Add(run, c.of(exporter.KindCPU, time.Second))
			}
		}
		var r *compare.Result
		if err == nil {
			r, err = compare.Compare(side, side)
		}
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v: %+v", name, err, r.Functions)
		}
	}
}
