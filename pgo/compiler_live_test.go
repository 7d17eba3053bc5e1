// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package pgo_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/pgocheck"
	"github.com/spanprof/spanprof/pgo"
)

// run runs the go command in dir, which no workspace and no flags from outside change.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The compiler reads the merged profile, trimmed or not, and inlines a call that it did not
// inline before.
func TestCompiler(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS("testdata")), os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/mix\n\ngo 1.26\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	inlined := "inlining call to mix"
	if out := run(t, dir, "build", "-pgo=off", "-gcflags=-m"); strings.Contains(out, inlined) {
		t.Fatal("mix is inlined without a profile: make it larger")
	}
	raw := calling("example.com/mix.Work", "example.com/mix.mix", 1000)
	for _, opts := range [][]pgo.Option{nil, {pgo.WithLeaf(2)}} {
		result, err := merge([]pgo.Source{{Name: "one", Profile: raw}, {Name: "two", Profile: raw}}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "default.pgo")
		if err := result.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		out := run(t, dir, "build", "-pgo="+file, "-gcflags=-m -d=pgodebug=1")
		for _, want := range []string{inlined, "hot-node enabled increased budget=2000 for func=example.com/mix.mix"} {
			if !strings.Contains(out, want) {
				t.Errorf("%d options: no %q in the compiler's output:\n%s", len(opts), want, out)
			}
		}
	}
}

// Calls and weights equal the results of the Go tool, before and after the merge.
func TestPreprofile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(run(t, ".", "env", "GOROOT")), "src/cmd/compile/default.pgo"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	whole, trimmed := merged(t, p), merged(t, p, pgo.WithLeaf(2))
	for _, of := range []*profile.Profile{p, whole} {
		if diff := cmp.Diff(callsOf(of), preprofile(t, of)); diff != "" {
			t.Errorf("calls (-got +go tool preprofile):\n%s", diff)
		}
	}
	if diff := cmp.Diff(callsOf(whole), callsOf(trimmed)); diff != "" {
		t.Errorf("WithLeaf(2) changes calls (-whole +trimmed):\n%s", diff)
	}
}

// callsOf lists the calls of p with their weights.
func callsOf(p *profile.Profile) []string {
	var list []string
	for call, w := range pgocheck.CallsOf(p, slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" || t.Type == "samples" })).Weight {
		list = append(list, fmt.Sprintf("%s > %s %d %d", call.Caller, call.Callee, call.Offset, w))
	}
	slices.Sort(list)
	return list
}

func merged(t *testing.T, p *profile.Profile, opts ...pgo.Option) *profile.Profile {
	t.Helper()
	result, err := merge([]pgo.Source{{Name: "p", Profile: p}}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return result.Profile
}

// preprofile returns the calls that go tool preprofile prints, as callsOf does.
func preprofile(t *testing.T, p *profile.Profile) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	if err := os.WriteFile(file, encode(t, p), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(run(t, ".", "tool", "preprofile", "-i", file)), "\n")
	var list []string
	for i := 1; i+2 < len(lines); i += 3 {
		list = append(list, fmt.Sprintf("%s > %s %s", lines[i], lines[i+1], lines[i+2]))
	}
	slices.Sort(list)
	return list
}
