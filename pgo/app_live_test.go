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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/pgo"
)

// app is the program of testdata/app in a module of its own, with a CPU profile of
// itself at work.
type app struct {
	dir     string
	profile []byte
}

var (
	appOnce sync.Once
	theApp  app
	appErr  error
)

// newApp builds the program and profiles it, once for all tests.
func newApp(t *testing.T) app {
	t.Helper()
	appOnce.Do(func() {
		appErr = errors.New("the first test that uses the program has no profile of it")
		appErr = theApp.make(t)
	})
	if appErr != nil {
		t.Fatal(appErr)
	}
	return theApp
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(theApp.dir); err != nil && theApp.dir != "" {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (a *app) make(t *testing.T) (err error) {
	t.Helper()
	if a.dir, err = os.MkdirTemp("", "spanprof-pgo-test-"); err != nil { //nolint:usetesting // it is for all tests
		return err
	}
	if err := os.CopyFS(a.dir, os.DirFS("testdata/app")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(a.dir, "go.mod"), []byte("module example.com/app\n\ngo 1.26\n"), 0o644); err != nil {
		return err
	}
	if _, err := a.run("go", "build", "-o", "before.exe", "."); err != nil {
		return err
	}
	// Each function that the tests look for has at least a tenth of so many samples: far more
	// than the functions that are not hot. A busy machine has few samples a second.
	const enough = 300
	livetest.Doubling(t, 4*time.Second, func(duration time.Duration) string {
		a.mustRun(t, filepath.Join(a.dir, "before.exe"), "-o", "cpu.pprof", "-for", duration.String())
		if a.profile, err = os.ReadFile(filepath.Join(a.dir, "cpu.pprof")); err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(a.profile)
		if err != nil {
			t.Fatal(err)
		}
		return livetest.Few(samplesOf(p, 0), enough, "samples")
	})
	return nil
}

// run runs a command in the module, which no workspace and no flags from outside
// change.
func (a app) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = a.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (a app) mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := a.run(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (a app) source(name string) pgo.Source { return pgo.Source{Name: name, Data: a.profile} }

// samplesOf adds up the values at index.
func samplesOf(p *profile.Profile, index int) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[index]
	}
	return sum
}
