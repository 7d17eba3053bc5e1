// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// The way of a default.pgo for README's quickstart: record it, build it with what
// its own requests need, record that one too, and compare.
func TestQuickstartPGO(t *testing.T) {
	if os.Getenv("SPANPROF_QUICKSTART_PGO") == "" {
		t.Skip("it builds the quickstart with a profile, runtime and all, which takes two minutes: SPANPROF_QUICKSTART_PGO=1")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the quickstart is ended by an interrupt")
	}
	ctx := livetest.Context(t, withCollector) // the build with a profile takes minutes, too
	dir := t.TempDir()
	spanprof := build(ctx, t, "../../cmd/spanprof", ".")
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	pgo := filepath.Join(dir, "default.pgo")

	recordQuickstart(t, spanprof, build(ctx, t, "../../examples", "./quickstart"), before)
	say(t, spanprof, "pgo", "-o", pgo, before)
	if p := readPGO(t, pgo); cpuOf(p, "main.") == 0 {
		t.Errorf("no sample in %s is of the quickstart's own functions", pgo)
	}
	optimised := build(ctx, t, "../../examples", "./quickstart", "-pgo="+pgo)
	if version := say(t, "go", "version", "-m", optimised); !strings.Contains(version, "-pgo="+pgo) {
		t.Errorf("go version -m has no -pgo=%s", pgo)
	}
	recordQuickstart(t, spanprof, optimised, after)
	if diff := say(t, spanprof, "diff", before, after); diff == "" {
		t.Error("spanprof diff has nothing to say")
	}
}

// replicas is how many a comparison needs on each side to tell noise.
const replicas = 3

// recordQuickstart records replicas of a program for some seconds.
func recordQuickstart(t *testing.T, spanprof, program, dir string) {
	t.Helper()
	args := []string{"record", "-o", dir, "-for", "8s", "-every", "4s"}
	for range replicas {
		page, stop := startQuickstart(t, program)
		defer stop()
		args = append(args, strings.Replace(page, "/debug/spanprof/", "/debug/pprof/", 1))
	}
	say(t, spanprof, args...)
}

// startQuickstart runs the quickstart and returns the address of its page.
func startQuickstart(t *testing.T, program string) (page string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-listen", "127.0.0.1:0", "-load", "10")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if _, scanErr := fmt.Sscanf(first, "Open %s", &page); err != nil || scanErr != nil {
		t.Fatalf("the quickstart says %q (%v), want its page", first, err)
	}
	return page, func() {
		if err := cmd.Cancel(); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// say runs a command and returns what it prints.
func say(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	t.Logf("%s %s\n%s%s", filepath.Base(name), strings.Join(args, " "), out, &failure)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
