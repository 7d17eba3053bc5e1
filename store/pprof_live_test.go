// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// The tool reads what is written.
func TestPprofTool(t *testing.T) {
	s := newStore(t)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main;f", 3, nil}, sample{"main;g", 1, labels("span_id", "00000000000000aa")})))
	_, _, encoded := bothForms(t, s, store.Query{Kind: exporter.KindCPU})
	file := filepath.Join(t.TempDir(), "cpu.pb.gz")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"File: app", "Build ID: b1", "30ms 75.00% 75.00%", "100%  main"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// What is written takes no memory for each sample of the store, and little for each of its
// own.
func TestPprofAllocates(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	s := newStore(t)
	g := newGenerator()
	for n := range 20 {
		export(t, s, inWindow(n, exporter.KindCPU, g.profile(2000)))
	}
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for name, test := range map[string]struct {
		withoutIDs     bool
		allocs, memory float64 // a sample that is written
	}{"with ids": {false, 5, 1500}, "without": {true, 1, 400}} {
		write := func() int {
			p, err := v.(store.Encoder).Pprof(store.Query{Kind: exporter.KindCPU, WithoutIDs: test.withoutIDs})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Write(io.Discard); err != nil {
				t.Fatal(err)
			}
			return p.Samples()
		}
		write() // It makes the compressor.
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := float64(write())
		runtime.ReadMemStats(&after)
		allocs, memory := float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n
		t.Logf("%s: %v samples, %.2f allocations and %.0f B each", name, n, allocs, memory)
		if allocs > test.allocs || memory > test.memory {
			t.Errorf("%s: %.2f allocations and %.0f B a sample, want at most %v and %v", name, allocs, memory, test.allocs, test.memory)
		}
	}
}
