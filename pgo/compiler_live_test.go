// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package pgo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/pgocheck/calls"
	"github.com/spanprof/spanprof/pgo"
)

// The compiler reads the merged profile, and inlines a call that it did not inline before.
func TestCompiler(t *testing.T) {
	a := newApp(t)
	for _, test := range []struct {
		name string
		opts []pgo.Option
	}{
		{"whole", nil},
		{"leaf", []pgo.Option{pgo.WithLeaf(2)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, err := merge([]pgo.Source{a.source("one"), a.source("two")}, test.opts...)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "default.pgo")
			if err := result.WriteFile(file); err != nil {
				t.Fatal(err)
			}
			inlined := "inlining call to mix"
			if out := a.mustRun(t, "go", "build", "-pgo=off", "-gcflags=-m", "./mix"); strings.Contains(out, inlined) {
				t.Fatal("mix is inlined without a profile: make it larger")
			}
			out := a.mustRun(t, "go", "build", "-pgo="+file, "-gcflags=-m -d=pgodebug=1", "./mix")
			for _, want := range []string{inlined, "hot-node enabled increased budget=2000 for func=example.com/app/mix.mix"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in the compiler's output:\n%s", want, out)
				}
			}
		})
	}
}

// Calls and weights equal the results of the Go tool, before and after the merge, trimmed or
// not.
func TestPreprofile(t *testing.T) {
	a := newApp(t)
	raw, err := profile.ParseData(a.profile)
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := os.ReadFile(filepath.Join(strings.TrimSpace(a.mustRun(t, "go", "env", "GOROOT")), "src/cmd/compile/default.pgo"))
	if err != nil {
		t.Fatal(err)
	}
	large, err := profile.ParseData(compiler) // of the Go compiler itself
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*profile.Profile{"app": raw, "compiler": large} {
		whole := merged(t, p)
		trimmed := merged(t, p, pgo.WithLeaf(2))
		if diff := cmp.Diff(callsOf(whole), preprofile(t, a, whole)); diff != "" {
			t.Errorf("%s: calls of the merged profile (-got +go tool preprofile):\n%s", name, diff)
		}
		if diff := cmp.Diff(callsOf(p), preprofile(t, a, p)); diff != "" {
			t.Errorf("%s: calls of the profile as it came (-got +go tool preprofile):\n%s", name, diff)
		}
		if diff := cmp.Diff(callsOf(whole), callsOf(trimmed)); diff != "" {
			t.Errorf("%s: WithLeaf(2) changes calls (-whole +trimmed):\n%s", name, diff)
		}
		var before, after, short strings.Builder
		for to, from := range map[*strings.Builder]*profile.Profile{&before: p, &after: whole, &short: trimmed} {
			if err := from.Write(to); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d bytes, merged %d, trimmed %d; %d calls", name, before.Len(), after.Len(), short.Len(), len(callsOf(p)))
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
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(a.mustRun(t, "go", "tool", "preprofile", "-i", file)), "\n")
	var list []string
	for i := 1; i+2 < len(lines); i += 3 {
		list = append(list, fmt.Sprintf("%s > %s %s", lines[i], lines[i+1], lines[i+2]))
	}
	slices.Sort(list)
	return list
}
