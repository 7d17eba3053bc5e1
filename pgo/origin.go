// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// maxBinaries bounds the programs that are distinguished.
const maxBinaries = 100

// binary is a profiled program.
type binary struct {
	buildID string // of one build; Go's profiler has it on Linux
	file    string // the executable's name
	main    string // the directory of package main's source; empty if unknown
	samples int64
}

// binariesOf returns the programs of a profile: the mappings with package main, else the
// first mapping, which is the program in profiles of Go.
func binariesOf(p *profile.Profile, used map[*profile.Location]bool, samples int64) []binary {
	var found []binary
	add := func(m *profile.Mapping, dir string) {
		b := binary{main: dir, samples: samples}
		if m != nil {
			b.buildID = m.BuildID
			if m.File != "" {
				b.file = path.Base(slashed(m.File))
			}
		}
		same := func(other binary) bool { return other.buildID == b.buildID && other.file == b.file }
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
			if dir := path.Dir(slashed(f.Filename)); dir != "." { // cgo makes files without one
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

// see adds programs.
func (m *merger) see(binaries []binary) {
	for _, b := range binaries {
		i := slices.IndexFunc(m.binaries, func(other binary) bool {
			return other.buildID == b.buildID && other.file == b.file && other.main == b.main
		})
		switch {
		case i >= 0:
			m.binaries[i].samples += b.samples
		case len(m.binaries) < maxBinaries:
			m.binaries = append(m.binaries, b)
		}
	}
}

// sameProgram reports whether a and b may be builds of one program, in any directory.
func sameProgram(a, b binary) bool {
	switch {
	case a.buildID != "" && a.buildID == b.buildID:
		return true
	case a.main != "" && b.main != "":
		rooted := strings.HasPrefix(a.main, "/") || strings.Contains(a.main, ":/")
		return a.main == b.main || rooted && path.Base(a.main) == path.Base(b.main)
	}
	return a.file == "" || b.file == "" || a.file == b.file
}

func (b binary) String() string {
	var parts []string
	if b.file != "" {
		parts = append(parts, b.file)
	}
	if b.main != "" {
		parts = append(parts, "package main in "+b.main)
	}
	if b.buildID != "" {
		parts = append(parts, "build id "+b.buildID)
	}
	if len(parts) == 0 {
		return "an unknown program"
	}
	return strings.Join(parts, ", ")
}

// otherBinaries warns about profiles of different programs, or of different builds.
func otherBinaries(binaries []binary) []string {
	if len(binaries) < 2 {
		return nil
	}
	var names, builds []string
	other := false
	for _, b := range binaries {
		names = append(names, b.String())
		if b.buildID != "" && !slices.Contains(builds, b.buildID) {
			builds = append(builds, b.buildID)
		}
		other = other || !sameProgram(binaries[0], b)
	}
	switch {
	case other:
		return []string{"the profiles are of different programs, and hot calls of one are cold in the other: " + list(names)}
	case len(builds) > 1:
		return []string{fmt.Sprintf("the profiles are of %d builds; calls that moved to other lines are counted apart: %s", len(builds), list(names))}
	}
	return nil
}
