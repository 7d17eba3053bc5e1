// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/pgo/internal/gobinary"
)

var (
	// ErrNotExecutable is the error for a file that is no executable of a known system.
	ErrNotExecutable = gobinary.ErrNotExecutable
	// ErrNotGo is the error for an executable without a table of Go functions: it is not
	// of Go, older than Go 1.18, or packed.
	ErrNotGo = gobinary.ErrNoTable
)

// Executable is a Go program that was built. It is safe for concurrent use.
type Executable struct {
	// GoVersion is the Go that built it, Package its main package and Module the
	// main module. They are empty if the executable lacks them.
	GoVersion, Package, Module string
	// PGO is the profile that it was built with, or empty.
	PGO string

	functions functions
}

// ReadExecutable reads the executable at path: ELF, Mach-O or PE, stripped or not.
func ReadExecutable(path string) (*Executable, error) {
	f, err := files.Open(path, files.Follow)
	if err != nil {
		return nil, fmt.Errorf("pgo: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	in := &bounded{f, 512 << 20}
	names, err := gobinary.Functions(in)
	if err != nil {
		return nil, fmt.Errorf("pgo: %s: %w", path, err)
	}
	e := &Executable{functions: newFunctions(names)}
	if info, err := buildinfo.Read(in); err == nil { // optional: some tools remove it
		e.GoVersion, e.Package, e.Module = info.GoVersion, info.Path, info.Main.Path
		for _, s := range info.Settings {
			if s.Key == "-pgo" {
				e.PGO = s.Value
			}
		}
	}
	return e, nil
}

// bounded reads at most left bytes of a file, at any place.
type bounded struct {
	io.ReaderAt
	left int
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("more than 512 MiB would be read")
	}
	return b.ReaderAt.ReadAt(p, at)
}

// Package is a main package.
type Package struct {
	// ImportPath names it, Dir holds its source, and its default.pgo.
	ImportPath, Dir string
}

// FindPackage returns the main package that pattern names for the go command: an import
// path or a directory. It may be in another module than the working directory.
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

// Build builds p as go build does, with its default.pgo if there is one. It reads the
// executable and removes it.
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
