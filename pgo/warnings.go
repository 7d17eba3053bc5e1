// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
)

const (
	// minSamples is the number of samples at which a function with 1 % of the CPU time
	// has ten. Then it differs from one with a third of that.
	minSamples = 1000
	// maxUnseen is the share of unseen calls above which more samples change what is hot.
	// The profile that the Go compiler is built with has 20 %.
	maxUnseen = 0.25
	// maxNameless is the share of samples outside known functions that gives a warning.
	maxNameless = 0.10
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
	if share := float64(m.nameless) / float64(m.samples); share > maxNameless {
		add("%.0f %% of the samples are in code without a function's name: the compiler cannot use them", share*100)
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
