// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spanprof/spanprof/pgo/internal/gobinary"
)

var (
	// ErrNotExecutable says that a file is no executable, or one of a system that
	// is not known.
	ErrNotExecutable = gobinary.ErrNotExecutable
	// ErrNotGo says that an executable has no table of Go functions: it is not of
	// Go, older than Go 1.18, or packed.
	ErrNotGo = gobinary.ErrNoTable
)

// Executable is a Go program that was built. It is safe for concurrent use.
type Executable struct {
	// GoVersion is the Go that built it, Package its main package and Module the
	// main module. They are empty where the executable does not say.
	GoVersion, Package, Module string
	// PGO is the profile that it was built with, or empty.
	PGO string

	functions functions
}

// ReadExecutable reads what the program at path says of itself. It knows ELF, Mach-O and
// PE, stripped or not.
func ReadExecutable(path string) (*Executable, error) {
	names, err := gobinary.Functions(path)
	if err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	e := &Executable{functions: newFunctions(names)}
	if info, err := buildinfo.ReadFile(path); err == nil { // optional: some tools remove it
		e.GoVersion, e.Package, e.Module = info.GoVersion, info.Path, info.Main.Path
		for _, s := range info.Settings {
			if s.Key == "-pgo" {
				e.PGO = s.Value
			}
		}
	}
	return e, nil
}

// Package is a main package.
type Package struct {
	// ImportPath names it, Dir holds its source, and its default.pgo.
	ImportPath, Dir string
}

// FindPackage asks the go command for the main package that pattern names: an
// import path or a directory, which may be in another module than the working
// directory.
func FindPackage(ctx context.Context, pattern string) (Package, error) {
	dir := "."
	if info, err := os.Stat(pattern); err == nil && info.IsDir() {
		dir, pattern = pattern, "."
	}
	out, err := goCommand(ctx, dir, "list", "-f", "{{.Name}}\t{{.ImportPath}}\t{{.Dir}}", "--", pattern)
	if err != nil {
		return Package{}, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 1 {
		return Package{}, fmt.Errorf("pgo: %s are %d packages: name one", pattern, len(lines))
	}
	fields := strings.Split(lines[0], "\t")
	if len(fields) != 3 {
		return Package{}, fmt.Errorf("pgo: go list %s prints %q", pattern, lines[0])
	}
	if fields[0] != "main" {
		return Package{}, fmt.Errorf("pgo: %s is package %s: only a package main makes an executable", fields[1], fields[0])
	}
	return Package{ImportPath: fields[1], Dir: fields[2]}, nil
}

// Build builds p as go build does, with its default.pgo if there is one, and reads
// the executable, of which nothing is left.
func (p Package) Build(ctx context.Context) (_ *Executable, err error) {
	dir, err := os.MkdirTemp("", "spanprof-pgo-")
	if err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "main.exe")
	if _, err := goCommand(ctx, p.Dir, "build", "-o", path, "--", "."); err != nil {
		return nil, err
	}
	return ReadExecutable(path)
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("pgo: go %s %s in %s: %w: %s", args[0], args[len(args)-1], dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
