// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package diffview writes comparisons for a terminal.
package diffview

import (
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/compare"
	"github.com/spanprof/spanprof/internal/termtext"
)

// most bounds the rows of a table; JSON has all.
const most = 50

// moved returns the functions that moved.
func moved(all []compare.Function) []compare.Function {
	var moved []compare.Function
	for _, f := range all {
		if f.Moved {
			moved = append(moved, f)
		}
	}
	return moved
}

// Text returns a comparison for a terminal, with the functions that moved.
func Text(r *compare.Result) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "CPU time %s, %s before and %s after\n", per[r.Per], side(r.Before), side(r.After))
	header(b, r.Total.Test != nil)
	row(b, r.Per, r.Total, "all that is compared")
	shown := r.Functions
	if r.Repeated {
		shown = moved(shown)
	}
	for _, f := range shown[:min(len(shown), most)] {
		if f.Self.Moved() && !f.Total.Moved() {
			row(b, r.Per, f.Self, f.Name+" (self)")
			continue
		}
		row(b, r.Per, f.Total, f.Name)
		if f.Self.Moved() {
			row(b, r.Per, f.Self, "  of it self")
		}
	}
	if omitted := len(shown) - most; omitted > 0 {
		fmt.Fprintf(b, "%20s %s, which differ less\n", "...", termtext.Plural(omitted, "more function"))
	}
	b.WriteByte('\n')
	for _, note := range notes(r) {
		termtext.Prose(b, "", 0, note)
	}
	return b.String()
}

var per = map[compare.Per]string{
	compare.PerRequest: "per request",
	compare.PerSecond:  "per second",
	compare.PerShare:   "as a share of the total",
}

func side(s compare.Size) string {
	return fmt.Sprintf("%s with %.0f samples", termtext.Plural(s.Runs, "run"), s.Samples)
}

func header(b *strings.Builder, tested bool) {
	interval, q := "", ""
	if tested {
		interval, q = "95 % interval", "q"
	}
	fmt.Fprintf(b, "%8s  %-18s %9s %9s  %-6s  %s\n", "change", interval, "before", "after", q, "function")
}

func row(b *strings.Builder, per compare.Per, c compare.Change, name string) {
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
	fmt.Fprintf(b, "%8s  %-18s %9s %9s  %-6s  %s\n", change, interval, amount(per, c.Before), amount(per, c.After), q,
		termtext.OneLine(termtext.ClipStart(name, termtext.MaxQuoted)))
}

func amount(per compare.Per, v float64) string {
	if per == compare.PerShare {
		return fmt.Sprintf("%.2f%%", 100*v)
	}
	return termtext.Value(int64(v+0.5), termtext.Nanoseconds)
}

func percent(ratio float64) string {
	return fmt.Sprintf("%+.1f%%", 100*(ratio-1))
}

// notes explain how reliable the table is.
func notes(r *compare.Result) []string {
	var notes []string
	if r.Repeated {
		n := len(moved(r.Functions))
		notes = append(notes, fmt.Sprintf("%s of %d moved beyond noise; %d have too few samples for a test.", termtext.Plural(n, "function"), r.Tested, len(r.Functions)-r.Tested))
	} else {
		notes = append(notes, "No noise estimate: nothing was repeated. Two runs of one binary differ too. Give three runs a side.")
	}
	if r.Per == compare.PerShare {
		notes = append(notes, "Shares: if one function takes more, the other shares fall.")
	}
	if n := r.Before.LeftOut + r.After.LeftOut; n > 0 {
		notes = append(notes, fmt.Sprintf("%s left out, with no %s to divide by.", termtext.Plural(n, "run"), r.Per))
	}
	return notes
}
