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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/internal/pgocheck/calls"
	"github.com/spanprof/spanprof/pgo"
)

// app is the directory of the program of testdata/app, a module of its own.
type app string

// run runs a command in the module, which no workspace and no flags from outside change.
func (a app) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = string(a)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// newApp builds the program, and returns a CPU profile of it at work.
func newApp(t *testing.T) (app, *profile.Profile) {
	t.Helper()
	a := app(t.TempDir())
	if err := errors.Join(os.CopyFS(string(a), os.DirFS("testdata/app")), os.WriteFile(filepath.Join(string(a), "go.mod"), []byte("module example.com/app\n\ngo 1.26\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	a.run(t, "go", "build", "-o", "app.exe", ".")
	var p *profile.Profile
	livetest.Doubling(t, time.Second, func(d time.Duration) string { // a busy machine has few samples a second
		a.run(t, filepath.Join(string(a), "app.exe"), "-for", d.String())
		p = parsed(t, filepath.Join(string(a), "cpu.pprof"))
		samples := int64(0)
		for _, s := range p.Sample {
			samples += s.Value[0]
		}
		return livetest.Few(samples, 50, "samples")
	})
	return a, p
}

func parsed(t *testing.T, path string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The compiler reads the merged profile, trimmed or not, and inlines a call that it did not
// inline before. Calls and weights equal the results of the Go tool, before and after the merge.
func TestCompiler(t *testing.T) {
	a, raw := newApp(t)
	inlined := "inlining call to mix"
	if out := a.run(t, "go", "build", "-pgo=off", "-gcflags=-m", "./mix"); strings.Contains(out, inlined) {
		t.Fatal("mix is inlined without a profile: make it larger")
	}
	for _, opts := range [][]pgo.Option{nil, {pgo.WithLeaf(2)}} {
		result, err := merge([]pgo.Source{{Name: "one", Profile: raw}, {Name: "two", Profile: raw}}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "default.pgo")
		if err := result.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		out := a.run(t, "go", "build", "-pgo="+file, "-gcflags=-m -d=pgodebug=1", "./mix")
		for _, want := range []string{inlined, "hot-node enabled increased budget=2000 for func=example.com/app/mix.mix"} {
			if !strings.Contains(out, want) {
				t.Errorf("%d options: no %q in the compiler's output:\n%s", len(opts), want, out)
			}
		}
	}
	large := parsed(t, filepath.Join(strings.TrimSpace(a.run(t, "go", "env", "GOROOT")), "src/cmd/compile/default.pgo"))
	for name, p := range map[string]*profile.Profile{"app": raw, "compiler": large} {
		whole, trimmed := merged(t, p), merged(t, p, pgo.WithLeaf(2))
		for _, of := range []*profile.Profile{p, whole} {
			if diff := cmp.Diff(callsOf(of), preprofile(t, a, of)); diff != "" {
				t.Errorf("%s: calls (-got +go tool preprofile):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(callsOf(whole), callsOf(trimmed)); diff != "" {
			t.Errorf("%s: WithLeaf(2) changes calls (-whole +trimmed):\n%s", name, diff)
		}
	}
}

// callsOf lists the calls of p with their weights.
func callsOf(p *profile.Profile) []string {
	var list []string
	for call, w := range calls.Of(p, slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" || t.Type == "samples" })).Weight {
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
func preprofile(t *testing.T, a app, p *profile.Profile) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	if err := os.WriteFile(file, encode(t, p), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(a.run(t, "go", "tool", "preprofile", "-i", file)), "\n")
	var list []string
	for i := 1; i+2 < len(lines); i += 3 {
		list = append(list, fmt.Sprintf("%s > %s %s", lines[i], lines[i+1], lines[i+2]))
	}
	slices.Sort(list)
	return list
}
