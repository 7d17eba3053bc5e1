// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package file_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

func TestGoToolPprof(t *testing.T) {
	dir := t.TempDir()
	e := newExporter(t, dir, 0)
	function := &profile.Function{ID: 1, Name: "main.slow"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function}}}
	for i := range 3 {
		parsed := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     10_000_000,
			Function:   []*profile.Function{function},
			Location:   []*profile.Location{location},
			Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{7, 70_000_000}, Label: map[string][]string{"span_id": {"0123456789abcdef"}}}},
		}
		start := time.Now().Add(time.Duration(i) * 10 * time.Second)
		export(t, e, exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second}, parsed))
		export(t, e, plain(exporter.KindHeap, start, "")) // nothing for pprof
	}
	files, err := filepath.Glob(filepath.Join(dir, "*cpu*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("*cpu* is %q, %v", files, err)
	}
	for _, args := range [][]string{{"-top"}, {"-top", "-tagfocus=span_id=^0123456789abcdef"}} {
		out, err := exec.CommandContext(t.Context(), "go", append(append([]string{"tool", "pprof"}, args...), files...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		if !strings.Contains(string(out), "main.slow") || !strings.Contains(string(out), "210ms") {
			t.Errorf("%v: want main.slow with 210ms in all:\n%s", args, out)
		}
	}
}
