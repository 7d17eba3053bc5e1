// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	p := readPGO(t, filepath.Join(dir, "default.pgo"))
	own := cpuOf(p, "github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor")
	if all := cpuOf(p, ""); own == 0 || own == all {
		t.Errorf("%d of %d ns are below functions of tail_sampling, want some of them", own, all)
	}
}

func readPGO(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cpuOf returns the CPU time of samples with a function of a package in their
// stack.
func cpuOf(p *profile.Profile, pkg string) (ns int64) {
	for _, s := range p.Sample {
		if hasFunctionOf(s, pkg) {
			ns += s.Value[len(s.Value)-1]
		}
	}
	return ns
}

func hasFunctionOf(s *profile.Sample, pkg string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.HasPrefix(line.Function.Name, pkg) {
				return true
			}
		}
	}
	return false
}
