// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/livetest"
)

// A Collector is recorded through its pprof extension and built with its own default.pgo, by the
// commands of the example.
func TestCollectorPGO(t *testing.T) {
	if os.Getenv("SPANPROF_COLLECTOR_PGO") == "" {
		t.Skip("by hand, because it builds a Collector: SPANPROF_COLLECTOR_PGO=1")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the Collector is ended by an interrupt")
	}
	ctx := livetest.Context(t, 15*time.Minute) // two builds, 86 s of recording, two loads
	dir := filepath.Join(t.TempDir(), "example")
	cmd := exec.CommandContext(ctx, "examples/collector-pgo/try.sh", dir, "1")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "default.pgo"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return strings.Contains(f.Name, "/processor/tailsamplingprocessor") }) {
		t.Error("no function of tail_sampling is in default.pgo")
	}
}
