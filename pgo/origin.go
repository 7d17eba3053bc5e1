// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// maxBinaries bounds the programs that are told apart.
const maxBinaries = 100

// Binary is a program that profiles were taken of, as far as they tell.
type Binary struct {
	// BuildID tells builds apart. Go's profiler knows it on Linux.
	BuildID string
	// File is the name of the executable, without its directory.
	File string
	// Main is the directory of package main's source: a path below a module's name
	// where the program was built with -trimpath. It is empty where no sample has
	// a function of package main.
	Main string
	// Samples is the number of samples in the profiles of this binary.
	Samples int64
}

// binariesOf returns what a profile tells of the programs it was taken of: the
// mappings that hold package main, else the first mapping, which is the program
// itself where Go's profiler writes.
func binariesOf(p *profile.Profile, used map[*profile.Location]bool, samples int64) []Binary {
	var found []Binary
	add := func(m *profile.Mapping, dir string) {
		b := Binary{Main: dir, Samples: samples}
		if m != nil {
			b.BuildID = m.BuildID
			if m.File != "" {
				b.File = path.Base(slashed(m.File))
			}
		}
		same := func(other Binary) bool { return other.BuildID == b.BuildID && other.File == b.File }
		if len(found) < maxBinaries && !slices.ContainsFunc(found, same) {
			found = append(found, b)
		}
	}
	for _, l := range p.Location {
		if !used[l] {
			continue
		}
		for _, line := range l.Line {
			f := line.Function
			if f == nil || !strings.HasPrefix(f.Name, "main.") {
				continue
			}
			if dir := path.Dir(slashed(f.Filename)); dir != "." { // as the files are that cgo makes
				add(l.Mapping, dir)
			}
		}
	}
	if len(found) == 0 && samples > 0 && len(p.Mapping) > 0 {
		add(p.Mapping[0], "")
	}
	return found
}

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }

func (b Binary) identity() [3]string { return [3]string{b.BuildID, b.File, b.Main} }

// sameProgram reports whether a and b may be builds of one program. Builds in other
// directories are.
func sameProgram(a, b Binary) bool {
	switch {
	case a.BuildID != "" && a.BuildID == b.BuildID:
		return true
	case a.Main != "" && b.Main != "":
		rooted := strings.HasPrefix(a.Main, "/") || strings.Contains(a.Main, ":/")
		return a.Main == b.Main || rooted && path.Base(a.Main) == path.Base(b.Main)
	}
	return a.File == "" || b.File == "" || a.File == b.File
}

func (b Binary) String() string {
	var parts []string
	if b.File != "" {
		parts = append(parts, b.File)
	}
	if b.Main != "" {
		parts = append(parts, "package main in "+b.Main)
	}
	if b.BuildID != "" {
		parts = append(parts, "build id "+b.BuildID)
	}
	if len(parts) == 0 {
		return "an unknown program"
	}
	return strings.Join(parts, ", ")
}
