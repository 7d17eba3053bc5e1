// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/compare"
	"github.com/spanprof/spanprof/internal/termtext"
)

// maxRows bounds the rows of a table; JSON has all.
const maxRows = 50

// diffText returns a comparison for a terminal, with the functions that moved.
func diffText(r *compare.Result) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "CPU time per %s, %s before and %s after\n", r.Per, diffSide(r.Before), diffSide(r.After))
	interval, q, note := "", "", "No noise estimate: nothing was repeated. Two runs of one binary differ too. Give three runs a side."
	shown := r.Functions
	if r.Repeated {
		interval, q = "95 % interval", "q"
		shown = slices.DeleteFunc(slices.Clone(shown), func(f compare.Function) bool { return !f.Moved })
		note = fmt.Sprintf("%s of %d moved beyond noise; %d have too few samples for a test.", termtext.Plural(len(shown), "function"), r.Tested, len(r.Functions)-r.Tested)
	}
	fmt.Fprintf(b, "%8s  %-18s %9s %9s  %-6s  %s\n", "change", interval, "before", "after", q, "function")
	diffRow(b, r.Total, "all that is compared")
	for _, f := range shown[:min(len(shown), maxRows)] {
		if f.Self.Moved() && !f.Total.Moved() {
			diffRow(b, f.Self, f.Name+" (self)")
			continue
		}
		diffRow(b, f.Total, f.Name)
		if f.Self.Moved() {
			diffRow(b, f.Self, "  of it self")
		}
	}
	if omitted := len(shown) - maxRows; omitted > 0 {
		fmt.Fprintf(b, "%20s %s, which differ less\n", "...", termtext.Plural(omitted, "more function"))
	}
	b.WriteByte('\n')
	termtext.Prose(b, "", 0, note)
	return b.String()
}

func diffSide(s compare.Size) string {
	return fmt.Sprintf("%s with %.0f samples", termtext.Plural(s.Runs, "run"), s.Samples)
}

func diffRow(b *strings.Builder, c compare.Change, name string) {
	interval, q, change := "", "", percent(c.Ratio)
	if c.Test != nil {
		interval = percent(c.Test.Low) + " to " + percent(c.Test.High)
		q = fmt.Sprintf("%.4f", c.Test.Q)
		if c.Test.Q < 0.0001 {
			q = "<.0001"
		}
	}
	switch {
	case c.Before == 0 && c.After > 0:
		change = "new"
	case c.After == 0 && c.Before > 0:
		change = "gone"
	}
	fmt.Fprintf(b, "%8s  %-18s %9s %9s  %-6s  %s\n", change, interval, amount(c.Before), amount(c.After), q,
		termtext.OneLine(termtext.ClipStart(name, termtext.MaxQuoted)))
}

func amount(ns float64) string { return termtext.Value(int64(ns+0.5), termtext.Nanoseconds) }

func percent(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) }
