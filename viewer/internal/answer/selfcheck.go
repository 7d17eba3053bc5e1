// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/termtext"
)

// SelfCheck is what was checked of what makes spans and profiles, and what was found.
type SelfCheck struct {
	Checks   int       `json:"checks"`
	Findings []Finding `json:"findings"`
	// SampledShare is the share of spans that are sampled, and so labelled;
	// UnlabelledShare that of the CPU time which is in no span. Each is nil where there
	// is none of either.
	SampledShare    *float64 `json:"sampledShare,omitempty"`
	UnlabelledShare *float64 `json:"unlabelledShare,omitempty"`
	// Gaps says why CPU was not profiled all the time, "" where it is not known.
	Gaps string `json:"-"`
}

// Finding is what a check has found.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Seen     string `json:"seen"`
	Do       string `json:"do"`
}

// text returns both sentences.
func (f *Finding) text() string { return f.Seen + " " + f.Do }

// finding returns the first finding with one of the ids, nil where there is none.
func (r *Reader) finding(ids ...string) *Finding {
	if r.status == nil || r.status.SelfCheck == nil {
		return nil
	}
	found := r.status.SelfCheck.Findings
	i := slices.IndexFunc(found, func(f Finding) bool { return slices.Contains(ids, f.ID) })
	if i < 0 {
		return nil
	}
	return &found[i]
}

// sentence returns a finding as the end of a reason, which has no full stop.
func (f *Finding) sentence() string { return strings.TrimSuffix(f.text(), ".") }

// verdict writes a line about checks that find nothing wrong: write says what is.
func (s *SelfCheck) verdict(b *strings.Builder) {
	switch {
	case s == nil:
	case len(s.Findings) == 0:
		fmt.Fprintf(b, "self-check: all %d checks pass\n", s.Checks)
	case !slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == string(selfcheck.Wrong) }):
		fmt.Fprintf(b, "self-check: nothing is wrong; %s in log?format=text\n", termtext.Plural(len(s.Findings), "note"))
	}
}

// write writes what was found, for a terminal. With all it writes also that all is well,
// and the notes.
func (s *SelfCheck) write(b *strings.Builder, all bool) {
	if s == nil {
		return
	}
	if all && len(s.Findings) == 0 {
		fmt.Fprintf(b, "check    all %d checks pass\n", s.Checks)
	}
	if shares := s.shares(); all && shares != "" {
		fmt.Fprintf(b, "check    %s\n", shares)
	}
	for i := range s.Findings {
		if f := &s.Findings[i]; all || f.Severity == string(selfcheck.Wrong) {
			termtext.Prose(b, "check", 9, fmt.Sprintf("%s (%s): %s", f.ID, f.Severity, f.text()))
		}
	}
}

// shares says how much of spans and CPU time the profiles of spans have, "" where there is
// nothing of either.
func (s *SelfCheck) shares() string {
	var parts []string
	if s.SampledShare != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% of spans are sampled", 100**s.SampledShare))
	}
	if s.UnlabelledShare != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% of CPU time is in no span", 100**s.UnlabelledShare))
	}
	return strings.Join(parts, ", ")
}
