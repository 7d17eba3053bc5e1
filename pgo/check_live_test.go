// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package pgo_test

import (
	"debug/elf"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/pgo"
)

func TestCheck(t *testing.T) {
	a := newApp(t)
	p, err := pgo.Parse(a.profile)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("same", func(t *testing.T) {
		check := checkOf(t, filepath.Join(a.dir, "before.exe"), p)
		if len(check.Missing) > 0 || check.Self != 0 || check.Calls != 0 || check.Hot < 5 {
			t.Errorf("the program that was profiled lacks functions: %+v", check)
		}
	})
	pkg, err := pgo.FindPackage(t.Context(), a.dir)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := filepath.EvalSymlinks(a.dir); err != nil || pkg.ImportPath != "example.com/app" || pkg.Dir != want {
		t.Errorf("got package %+v, want example.com/app in %s (%v)", pkg, want, err)
	}
	t.Setenv("GOFLAGS", "-tags=after -ldflags=-s")
	t.Setenv("GOWORK", "off")
	e, err := pkg.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check, err := e.Check(p)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		reason pgo.Reason
		now    string
	}
	got := map[string]row{}
	var self float64
	for _, m := range check.Missing {
		got[m.Name] = row{m.Reason, m.Now}
		self += m.Self
		if m.Self > m.Total || m.Total <= 0 || m.Total > 1 {
			t.Errorf("%s: %v of the time in itself, %v in all", m.Name, m.Self, m.Total)
		}
	}
	for name, want := range map[string]row{
		"main.gone":                        {pgo.Gone, ""},
		"main.closures.func1":              {pgo.Closure, "main.closures"},
		"main.sum[go.shape.uint64]":        {pgo.Instance, "main.sum[...]"},
		"example.com/app/hash.(*Hash).Sum": {pgo.Moved, "example.com/app/internal/hash.(*Hash).Sum"},
	} {
		if got[name] != want {
			t.Errorf("%s: got %+v, want %+v", name, got[name], want)
		}
	}
	for _, name := range []string{"example.com/app/mix.mix", "example.com/app/mix.small", "example.com/app/mix.Work", "main.version"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s is there, and is reported as missing", name)
		}
	}
	if check.Self < 0.2 || check.Self > 1 || check.Self < self-1e-9 || check.Calls < 0.2 || check.Calls > 1 {
		t.Errorf("got %v of the time in missing functions, %v by the list, and %v of the calls", check.Self, self, check.Calls)
	}
}

// Names of inlined functions are in no symbol table.
func TestInlined(t *testing.T) {
	if runtime.GOOS != "linux" {
		loudskip.Test(t, "it reads the symbol table of ELF")
	}
	a := newApp(t)
	path := filepath.Join(a.dir, "before.exe")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	const inlined = "example.com/app/mix.small"
	if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == inlined }) {
		t.Fatalf("%s is a symbol: it shows nothing", inlined)
	}
	p := calling("example.com/app/mix.Work", inlined, 100)
	if check := checkOf(t, path, p); len(check.Missing) > 0 || check.Hot != 2 {
		t.Errorf("got %+v", check)
	}
}

func checkOf(t *testing.T, path string, p *profile.Profile) *pgo.Check {
	t.Helper()
	e, err := pgo.ReadExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	check, err := e.Check(p)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

func TestFindPackageErrors(t *testing.T) {
	a := newApp(t)
	for _, pattern := range []string{filepath.Join(a.dir, "mix"), filepath.Join(a.dir, "absent"), "example.com/absent", "-x"} {
		if pkg, err := pgo.FindPackage(t.Context(), pattern); err == nil {
			t.Errorf("%s: got %+v", pattern, pkg)
		} else {
			t.Log(err)
		}
	}
}

func TestCoverOfAProgram(t *testing.T) {
	a := newApp(t)
	p, err := pgo.Parse(a.profile)
	if err != nil {
		t.Fatal(err)
	}
	same, err := pgo.Cover(p, p)
	if err != nil {
		t.Fatal(err)
	}
	if same.Calls != same.Own || same.Own < 0.8 || same.Functions < same.Calls {
		t.Errorf("a profile's own workload: %+v", same)
	}
}
