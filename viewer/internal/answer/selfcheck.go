// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
)

// IDs of findings that explain an empty answer, and the severity of mistakes. Package
// selfcheck defines them.
const (
	wrong = "wrong"

	tracersBeforeWrap = "tracers-before-wrap"
	mutexFraction     = "mutex-without-fraction"
	blockRate         = "block-without-rate"
	wallBudget        = "wall-over-budget"
)

// unlabelled are the findings that explain why spans have no samples at all.
var unlabelled = []string{"disabled-by-environment", "provider-no-op", "provider-not-wrapped", "provider-not-global", tracersBeforeWrap}

// SelfCheck is the result of the checks of what makes spans and profiles.
type SelfCheck struct {
	Checks   int       `json:"checks"`
	Findings []Finding `json:"findings"`
	// SampledShare is the share of spans that are sampled, and so labelled. UnlabelledShare
	// is the share of CPU time outside of spans. Each is nil without a whole.
	SampledShare    *float64 `json:"sampledShare,omitempty"`
	UnlabelledShare *float64 `json:"unlabelledShare,omitempty"`
	// Started is about how many spans were started, Sampled about how many of them are sampled.
	Started uint64 `json:"-"`
	Sampled uint64 `json:"-"`
	// Gaps is why CPU was not profiled all the time, "" if unknown.
	Gaps string `json:"-"`
}

// Finding is the result of a check.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Seen     string `json:"seen"`
	Do       string `json:"do"`
}

// text returns both sentences.
func (f *Finding) text() string { return f.Seen + " " + f.Do }

// selfCheck returns the result of the self-check, a zero value without one.
func (r *Reader) selfCheck() SelfCheck {
	if r.status == nil || r.status.SelfCheck == nil {
		return SelfCheck{}
	}
	return *r.status.SelfCheck
}

// finding returns the first finding with one of the ids, nil if there is none.
func (r *Reader) finding(ids ...string) *Finding {
	found := r.selfCheck().Findings
	i := slices.IndexFunc(found, func(f Finding) bool { return slices.Contains(ids, f.ID) })
	if i < 0 {
		return nil
	}
	return &found[i]
}

// sentence returns a finding as the end of a reason, which has no full stop.
func (f *Finding) sentence() string { return strings.TrimSuffix(f.text(), ".") }

// verdict writes a line if no check finds a mistake; write lists the mistakes.
func (s *SelfCheck) verdict(b *strings.Builder) {
	switch {
	case s == nil:
	case len(s.Findings) == 0:
		fmt.Fprintf(b, "self-check: all %d checks pass\n", s.Checks)
	case !slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == wrong }):
		fmt.Fprintf(b, "self-check: nothing is wrong; %s in log?format=text\n", termtext.Plural(len(s.Findings), "note"))
	}
}

// write writes the mistakes for a terminal. With all it also writes notes, shares, and a
// line if nothing was found.
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
		if f := &s.Findings[i]; all || f.Severity == wrong {
			termtext.Prose(b, "check", 9, fmt.Sprintf("%s (%s): %s", f.ID, f.Severity, f.text()))
		}
	}
}

// shares returns the shares of spans and CPU time in words, "" without both.
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
