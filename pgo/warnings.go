// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
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
	if m.span != "" {
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
	switch {
	case len(m.programs) > 1:
		add("the profiles are of different programs, and hot calls of one are cold in the other: %s", list(m.programs))
	case len(m.builds) > 1:
		add("the profiles are of %d builds; calls that moved to other lines are counted apart", len(m.builds))
	}
	return w
}

// maxPrograms bounds the programs and builds that are distinguished.
const maxPrograms = 100

// see adds the program of a profile: its first mapping.
func (m *merger) see(p *profile.Profile) {
	if len(p.Mapping) == 0 {
		return
	}
	add := func(list *[]string, name string) {
		if name != "" && len(*list) < maxPrograms && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	file := strings.ReplaceAll(p.Mapping[0].File, `\`, "/")
	add(&m.programs, file[strings.LastIndexByte(file, '/')+1:])
	add(&m.builds, p.Mapping[0].BuildID) // Go's profiler has it on Linux
}
