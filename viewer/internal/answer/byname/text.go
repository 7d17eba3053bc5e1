// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package byname

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
)

// Text returns the table for a terminal.
func (t *Table) Text() string {
	var b strings.Builder
	service := termtext.OneLine(t.Service)
	if len(t.Services) > 1 {
		service = fmt.Sprintf("%d services", len(t.Services))
	}
	fmt.Fprintf(&b, "%s: %s of %s, %s of CPU time, by %s\n", termtext.Clip(service, 40), termtext.Plural(t.Total.Names, "name"), termtext.Plural(t.Total.Spans, "span"), nanoseconds(t.Total.CPUNs), t.Sort)
	if t.Note != "" {
		termtext.Prose(&b, "", 0, "note: "+t.Note)
	}
	if len(t.Names) == 0 {
		b.WriteString("no names\n")
	} else {
		fmt.Fprintf(&b, "\n%s %8s %7s %6s %8s %8s %8s  %s\n", t.cpu("cpu", "own"), "waits", "spans", "errors", "p50", "p95", "max", "name")
	}
	for i := range t.Names {
		n := &t.Names[i]
		waits := "-"
		if n.WaitNs != nil {
			waits = nanoseconds(*n.WaitNs)
		}
		name := n.Name
		if name == "" {
			name = "(unnamed)"
		}
		if len(t.Services) > 1 {
			name += " (" + n.Service + ")"
		}
		fmt.Fprintf(&b, "%s %8s %7d %6d %8s %8s %8s  %s\n", t.cpu(nanoseconds(n.CPUInclusiveNs), nanoseconds(n.CPUNs)), waits, n.Spans, n.Errors, quantile(n.Durations, "p50"), quantile(n.Durations, "p95"), quantile(n.Durations, "max"), termtext.Clip(termtext.OneLine(name), 40))
	}
	if t.Omitted.Names > 0 {
		fmt.Fprintf(&b, "%s of %s left out, which have %s: set limit\n", t.cpu("", nanoseconds(t.Omitted.CPUNs)), termtext.Plural(t.Omitted.Names, "more name"), termtext.Plural(t.Omitted.Spans, "span"))
	}
	if t.UnlabelledCPUNs > 0 {
		fmt.Fprintf(&b, "%s of samples without span_name\n", t.cpu("", nanoseconds(t.UnlabelledCPUNs)))
	}
	return b.String()
}

// cpu returns the columns of CPU time: one, unless spans have others below them.
func (t *Table) cpu(inclusive, own string) string {
	if t.Inclusive {
		return fmt.Sprintf("%8s %8s", inclusive, own)
	}
	return fmt.Sprintf("%8s", cmp.Or(inclusive, own))
}

func nanoseconds(v int64) string { return termtext.Value(v, termtext.Nanoseconds) }

func quantile(t *Times, q string) string {
	if t == nil {
		return "-"
	}
	return nanoseconds(t.of(q))
}
