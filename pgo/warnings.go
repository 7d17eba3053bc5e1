// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
	"slices"
)

const (
	// minSamples is the number of samples from which on a function with 1 % of the
	// CPU time has ten, and is told from one with a third of that.
	minSamples = 1000
	// maxUnseen is the share of calls never seen from which on more samples change
	// what is hot. The profile that the Go compiler is built with has 20 %.
	maxUnseen = 0.25
	// maxNameless is the share of samples outside known functions that is worth a
	// word.
	maxNameless = 0.10
	// minShare is the number of samples from which on a replica may weigh more than
	// it measured.
	minShare = 100
)

// warnings says what may be wrong with r.
func (m *Merger) warnings(r *Result) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	switch {
	case r.Samples < minSamples:
		add("the profile is thin: %d samples are less than the %d at which a function with 1 %% of the CPU time has ten; profile for longer, under load, or more replicas", r.Samples, minSamples)
	case r.Unseen > maxUnseen:
		add("the profile is thin: about %.0f %% of the time goes to calls that it has not seen, by the calls that it has seen once, and the compiler takes them for cold; profile for longer, or more replicas", r.Unseen*100)
	}
	if share := float64(m.nameless) / float64(r.Samples); share > maxNameless {
		add("%.0f %% of the samples are in code without a function's name, of which the compiler learns nothing", share*100)
	}
	for _, b := range r.Replicas {
		switch {
		case b.Samples == 0:
			add("%s has no samples%s", b.Name, m.ofSpan())
		case b.Weight > 2 && b.Samples < minShare:
			add("%s has %d samples, and each counts %.0f times for the balance: profile it for longer", b.Name, b.Samples, b.Weight)
		}
	}
	return append(w, otherBinaries(r.Binaries)...)
}

func (m *Merger) ofSpan() string {
	if m.config.bySpan {
		return fmt.Sprintf(" of a span named %q", m.config.span)
	}
	return ""
}

// otherBinaries warns where profiles are of different programs, else of different
// builds.
func otherBinaries(binaries []Binary) []string {
	if len(binaries) < 2 {
		return nil
	}
	var names, builds []string
	other := false
	for i, b := range binaries {
		names = append(names, b.String())
		if b.BuildID != "" && !slices.Contains(builds, b.BuildID) {
			builds = append(builds, b.BuildID)
		}
		other = other || i > 0 && !sameProgram(binaries[0], b)
	}
	switch {
	case other:
		return []string{"the profiles are of different programs, and one's hot calls are cold in the other: " + list(names)}
	case len(builds) > 1:
		return []string{fmt.Sprintf("the profiles are of %d builds; calls whose lines have moved between them are counted apart: %s", len(builds), list(names))}
	}
	return nil
}
