// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	modmodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"
)

const root = "github.com/spanprof/spanprof"

// module is the directory of a released module, relative to the top.
type module string

// modules are the modules of a release. Each is listed after its requirements.
var modules = []module{".", "exectrace", "cmd/spanprof", "exporter/otlp", "exporter/otlp/otlpgrpc", "ebpfbridge", "ebpfbridge/profilesprocessor", "examples"}

func (m module) path() string {
	if m == "." {
		return root
	}
	return root + "/" + string(m)
}

// tag is the name by which Go finds a version of the module in the repository.
func (m module) tag(version string) string {
	if m == "." {
		return version
	}
	return string(m) + "/" + version
}

// prepare writes the go.mod and go.sum files of a release into the checkout at
// top.
func prepare(top, version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%q is no version: it has the form v1.2.3", version)
	}
	var sums []string // of the modules before, as lines of go.sum
	for _, m := range modules {
		dir := filepath.Join(top, string(m))
		required, err := requireSiblings(filepath.Join(dir, "go.mod"), version)
		if err != nil {
			return err
		}
		if err := addSums(filepath.Join(dir, "go.sum"), sums, required); err != nil {
			return err
		}
		own, err := sumsOf(m, dir, version)
		if err != nil {
			return err
		}
		sums = append(sums, own...)
	}
	return nil
}

// requireSiblings makes a go.mod file require the other modules at version and
// replace nothing. It returns the others' paths.
func requireSiblings(file, version string) (required []string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range f.Replace {
		if !isSibling(r.Old.Path) {
			return nil, fmt.Errorf("%s replaces %s, which Go would ignore in a dependency: require a version that needs no replacement", file, r.Old.Path)
		}
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	for _, r := range f.Require {
		if !isSibling(r.Mod.Path) {
			continue
		}
		if !slices.ContainsFunc(modules, func(m module) bool { return m.path() == r.Mod.Path }) {
			return nil, fmt.Errorf("%s requires %s, which is not released", file, r.Mod.Path)
		}
		required = append(required, r.Mod.Path)
		if err := f.AddRequire(r.Mod.Path, version); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	data, err = f.Format()
	if err != nil {
		return nil, err
	}
	return required, os.WriteFile(file, data, 0o644)
}

func isSibling(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// addSums adds the lines of the required modules to a go.sum file.
func addSums(file string, sums, required []string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range sums {
		if slices.Contains(required, strings.Fields(line)[0]) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(slices.Compact(lines), "\n")+"\n"), 0o644)
}

// sumsOf returns the lines of go.sum for a module after its go.mod was prepared.
func sumsOf(m module, dir, version string) ([]string, error) {
	zipped, err := os.CreateTemp("", "release-*.zip")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(zipped.Name()) }()
	if err := errors.Join(writeZip(zipped, m, dir, version), zipped.Close()); err != nil {
		return nil, err
	}
	all, err := dirhash.HashZip(zipped.Name(), dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s", m.path(), version, all),
		fmt.Sprintf("%s %s/go.mod %s", m.path(), version, mod),
	}, nil
}

// writeZip writes the zip file that the module proxy serves for a module.
func writeZip(w io.Writer, m module, dir, version string) error {
	return modzip.CreateFromDir(w, modmodule.Version{Path: m.path(), Version: version}, dir)
}
