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
	"regexp"
	"strings"

	"github.com/spanprof/spanprof/internal/files"
)

// Executable is the functions of a Go program.
type Executable struct {
	names   map[string]bool
	generic map[string]bool     // names without their type arguments
	local   map[string][]string // by the name without directories
}

// Read reads the executable at path: ELF, Mach-O or PE, stripped or not.
func Read(path string) (*Executable, error) {
	f, err := files.Open(path, files.Follow)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	names, err := functions(&bounded{f, 512 << 20})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newExecutable(names), nil
}

func newExecutable(names map[string]bool) *Executable {
	e := &Executable{names, map[string]bool{}, map[string][]string{}}
	for name := range names {
		if plain := withoutTypes(name); plain != name {
			e.generic[plain] = true
		}
		key := localName(name)
		e.local[key] = append(e.local[key], name)
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

// find reports whether the executable has the function. If not, now is the name of a similar
// one, and moved is whether that is in another package.
func (e *Executable) find(name string) (ok bool, now string, moved bool) {
	if e.names[name] {
		return true, "", false
	}
	plain := withoutTypes(name)
	if e.generic[plain] {
		return plain == name, plain, false // some profilers omit types
	}
	if outer := e.outer(plain); outer != "" {
		return false, outer, false
	}
	if same := e.local[localName(name)]; len(same) == 1 {
		return false, same[0], true
	}
	return false, "", false
}

// closure ends the names of closures, wrappers of go and defer statements, bodies of loops
// over functions, and method values.
var closure = regexp.MustCompile(`(\.(func|gowrap|deferwrap)\d+|\.\d+|-range\d+|-fm)+$`)

// outer returns the function around a closure. The name may include a function that it was
// inlined in, as in main.outer.inlined.func1.
func (e *Executable) outer(name string) string {
	outer := closure.ReplaceAllString(name, "")
	for outer != name && strings.Contains(outer[strings.LastIndexByte(outer, '/')+1:], ".") {
		if e.names[outer] || e.generic[outer] {
			return outer
		}
		outer = outer[:strings.LastIndexByte(outer, '.')]
	}
	return ""
}

// withoutTypes replaces type arguments by three dots, as in main.Map[...].func1.
func withoutTypes(name string) string {
	first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if first < 0 || last < first {
		return name
	}
	return name[:first] + "[...]" + name[last+1:]
}

// version is the last element of an import path that is not the package's name.
var version = regexp.MustCompile(`/v[0-9]+$`)

// localName removes what a move changes: the directories of a package and its version.
func localName(name string) string {
	name = withoutTypes(name)
	at := strings.LastIndexByte(name, '/') + 1
	pkg, function, _ := strings.Cut(name[at:], ".")
	pkg = version.ReplaceAllString(name[:at]+pkg, "")
	pkg, _, _ = strings.Cut(pkg[strings.LastIndexByte(pkg, '/')+1:], "%2e") // gopkg.in/yaml.v3, as the linker writes it
	return pkg + "." + function
}
