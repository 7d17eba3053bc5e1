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

const (
	// minSamples is the number of samples at which a function with 1 % of the CPU time
	// has ten. Then it differs from one with a third of that.
	minSamples = 1000
	// maxUnseen is the share of unseen calls above which more samples change what is hot.
	// The profile that the Go compiler is built with has 20 %.
	maxUnseen = 0.25
	// minShare is the number of samples below which a replica must not weigh much more
	// than it measured.
	minShare = 100
)

// warnings returns reasons why the profile may not help. unseen is the share of the
// workload's calls that it has not seen.
func (m *merger) warnings(unseen float64) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	switch {
	case m.samples < minSamples:
		add("the profile is thin: %d samples are less than the %d at which a function with 1 %% of the CPU time has ten; profile for longer, under load, or more replicas", m.samples, minSamples)
	case unseen > maxUnseen:
		add("the profile is thin: about %.0f %% of the time is in calls that it has not seen, estimated by the calls that it has seen once, and the compiler takes them for cold; profile for longer, or more replicas", unseen*100)
	}
	ofSpan := ""
	if m.bySpan {
		ofSpan = fmt.Sprintf(" of a span named %q", m.span)
	}
	for _, r := range m.replicas {
		switch {
		case r.cpu == 0:
			add("%s has no samples%s", r.name, ofSpan)
		case r.weight > 2 && r.samples < minShare:
			add("%s has %d samples, and each counts %.0f times for the balance: profile it for longer", r.name, r.samples, r.weight)
		}
	}
	return append(w, otherBinaries(m.binaries)...)
}

// maxBinaries bounds the programs that are distinguished.
const maxBinaries = 100

// binary is a profiled program.
type binary struct {
	buildID string // of one build; Go's profiler has it on Linux
	file    string // the executable's name
	samples int64
}

// see adds the program of a profile: its first mapping.
func (m *merger) see(p *profile.Profile, samples int64) {
	b := binary{}
	if samples == 0 || len(p.Mapping) == 0 {
		return
	}
	b.buildID = p.Mapping[0].BuildID
	if name := p.Mapping[0].File; name != "" {
		b.file = path.Base(strings.ReplaceAll(name, `\`, "/"))
	}
	i := slices.IndexFunc(m.binaries, func(other binary) bool { return other.buildID == b.buildID && other.file == b.file })
	if i < 0 {
		if len(m.binaries) == maxBinaries {
			return
		}
		i = len(m.binaries)
		m.binaries = append(m.binaries, b)
	}
	m.binaries[i].samples += samples
}

func (b binary) String() string {
	switch {
	case b.file == "" && b.buildID == "":
		return "an unknown program"
	case b.buildID == "":
		return b.file
	}
	return strings.TrimPrefix(b.file+", build id "+b.buildID, ", ")
}

// otherBinaries warns about profiles of different programs, or of different builds.
func otherBinaries(binaries []binary) []string {
	var names, files, builds []string
	for _, b := range binaries {
		names = append(names, b.String())
		if b.file != "" && !slices.Contains(files, b.file) {
			files = append(files, b.file)
		}
		if b.buildID != "" && !slices.Contains(builds, b.buildID) {
			builds = append(builds, b.buildID)
		}
	}
	switch {
	case len(files) > 1:
		return []string{"the profiles are of different programs, and hot calls of one are cold in the other: " + list(names)}
	case len(builds) > 1:
		return []string{fmt.Sprintf("the profiles are of %d builds; calls that moved to other lines are counted apart: %s", len(builds), list(names))}
	}
	return nil
}
