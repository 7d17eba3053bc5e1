// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spanprof/spanprof/internal/files"
)

// Executable is the functions of a Go program.
type Executable struct {
	// names has generic functions without their type arguments too: some profilers omit them.
	names map[string]bool
}

// Read reads the executable at path: ELF, Mach-O or PE, stripped or not.
func Read(path string) (*Executable, error) {
	f, err := files.Open(path, files.Follow)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	names, err := functions(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newExecutable(names), nil
}

func newExecutable(names map[string]bool) *Executable {
	e := &Executable{map[string]bool{}}
	for name := range names {
		e.names[name], e.names[withoutTypes(name)] = true, true
	}
	return e
}

// Build builds the main package of a pattern, as go build does, with its default.pgo if there
// is one. dir is the directory of its source.
func Build(ctx context.Context, pattern string) (e *Executable, dir string, err error) {
	dir = "."
	if info, err := os.Stat(pattern); err == nil && info.IsDir() {
		dir, pattern = pattern, "."
	}
	out, err := goCommand(ctx, dir, "list", "-f", "{{.Name}}\t{{.Dir}}", "--", pattern)
	if err != nil {
		return nil, "", err
	}
	name, dir, _ := strings.Cut(strings.TrimSpace(out), "\t")
	if name != "main" || strings.Contains(dir, "\n") {
		return nil, "", fmt.Errorf("%s: name one package main", pattern)
	}
	temp, err := os.MkdirTemp("", "spanprof-pgo-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	path := filepath.Join(temp, "main.exe")
	if _, err = goCommand(ctx, dir, "build", "-o", path, "--", "."); err == nil {
		e, err = Read(path)
	}
	return e, dir, err
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s %s in %s: %w: %s", args[0], args[len(args)-1], dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// withoutTypes replaces type arguments by three dots, as in main.Map[...].func1.
func withoutTypes(name string) string {
	first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if first < 0 || last < first {
		return name
	}
	return name[:first] + "[...]" + name[last+1:]
}
