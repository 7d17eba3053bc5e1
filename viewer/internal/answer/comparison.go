// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/termtext"
)

const maxDiffRows = 2000

// Comparison is two profiles and how they differ.
type Comparison struct {
	// Left is the baseline, Right is compared with it.
	Left  *Profile `json:"left"`
	Right *Profile `json:"right"`
	// LeftName and RightName name the sides.
	LeftName  string `json:"leftName"`
	RightName string `json:"rightName"`
	// Flame has the nodes of both sides. Its left values belong to Left.
	Flame *flame.Graph `json:"flame"`
	// Diff has the functions in the order of the differences of their shares. DiffOmitted counts
	// the functions left out, which differ least.
	Diff        []flame.DiffRow `json:"diff"`
	DiffOmitted int             `json:"diffOmitted,omitempty"`
	// Note is about both sides, in words.
	Note   string  `json:"note,omitempty"`
	Status *Status `json:"status,omitempty"`
}

// Compare answers how what right selects differs from what left selects.
func (r *Reader) Compare(left, right Query) (*Comparison, error) {
	fns := flame.NewFunctions(r.ofHost(right))
	c := &Comparison{Left: r.profile(left, fns), Right: r.profile(right, fns), Status: r.status}
	if r.err != nil {
		return nil, r.err
	}
	c.LeftName, c.RightName = sideName(c.Left, c.Right), sideName(c.Right, c.Left)
	if b := c.Right.Baseline; c.Right.Span != nil && b != nil && b.Query == c.Left.Query && b.Spans > 0 && left.Type.Unit == termtext.Nanoseconds {
		c.Left.OfSpans, c.Right.OfSpans = b.Spans, 1
	}
	c.Note = r.notes()
	c.Flame = c.Right.summary.GraphAgainst(c.Left.summary)
	c.Flame.SetSources(r.Code.url)
	c.Diff, c.DiffOmitted = flame.Diff(c.Left.summary, c.Right.summary, maxDiffRows)
	return c, nil
}

// sideName describes a side. A baseline is described by what it has in common with the other.
func sideName(side, other *Profile) string {
	if b := other.Baseline; b != nil && b.Query == side.Query {
		return b.Meaning
	}
	return side.Title
}

// Text returns the comparison for a terminal.
func (c *Comparison) Text() string {
	var b strings.Builder
	for i, side := range []*Profile{c.Left, c.Right} {
		fmt.Fprintf(&b, "%s: %s\n", []string{"left", "right"}[i], termtext.Clip(termtext.OneLine([]string{c.LeftName, c.RightName}[i]), termtext.Columns-20))
		side.header(&b, "  ")
		if side.OfSpans > 1 {
			fmt.Fprintf(&b, "  %-9s%s for each of %d spans\n", "each", termtext.Value(side.Total/int64(side.OfSpans), side.Unit), side.OfSpans)
		}
	}
	writeNote(&b, c.Note)
	if c.Status != nil {
		writeNote(&b, c.Status.Message)
	}
	fmt.Fprintf(&b, "\n%7s %7s %9s  %s\n", "left", "right", "change", "function, by the change of its share of the total")
	room := max(4, min(textDiffRows, textRows-2-strings.Count(b.String(), "\n")))
	less := slices.DeleteFunc(slices.Clone(c.Diff), func(d flame.DiffRow) bool { return d.Delta >= 0 })
	more := slices.DeleteFunc(slices.Clone(c.Diff), func(d flame.DiffRow) bool { return d.Delta <= 0 })
	rest := len(c.Diff) + c.DiffOmitted
	for i, rows := range [][]flame.DiffRow{more, less} {
		rows = rows[:min(len(rows), room/2)]
		if i > 0 && len(rows) > 0 {
			b.WriteByte('\n')
		}
		for _, d := range rows {
			fmt.Fprintf(&b, "%7s %7s %+6.1f pp  %s\n", termtext.Percent(d.LeftTotal, c.Left.Total), termtext.Percent(d.RightTotal, c.Right.Total), 100*d.Delta, marked(d.Type, d.Name, termtext.Columns-27))
		}
		rest -= len(rows)
	}
	if rest > 0 {
		fmt.Fprintf(&b, "%20s %s, differing less or not at all\n", "...", termtext.Plural(rest, "more function"))
	}
	return b.String()
}
