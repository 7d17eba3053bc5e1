// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Name is the sum of the spans of one name in one service.
type Name struct {
	store.NameTotal
	Spread
	// CPUInclusive adds the CPU time of the spans below.
	CPUInclusive time.Duration `json:"cpuInclusiveNs"`
	// Wait is the wall time in samples less the CPU time. It is nil where wall time was not
	// sampled, or is shared with another name.
	Wait *time.Duration `json:"waitNs,omitempty"`
	// Allocated is the heap that work under spanprof.Handler and spanprof.Do allocated, in bytes. It
	// is nil without any, or if it is shared with another name.
	Allocated *int64 `json:"allocatedBytes,omitempty"`
	// Query selects the profile of the name, "" if no query selects it alone: samples carry a
	// label that several names may share.
	Query string `json:"query"`
}

// NameTable has the sums of spans by name.
type NameTable struct {
	head
	// Sort is the order of Names.
	Sort  string `json:"sort"`
	Names []Name `json:"names"`
	// Total is the sum of all names. Omitted is the number of names left out.
	Total   Sum `json:"total"`
	Omitted int `json:"omitted,omitempty"`
	// UnlabelledCPU is the CPU time of samples without span_name: of no span, as a rule. It
	// is in no row.
	UnlabelledCPU time.Duration `json:"unlabelledCpuNs"`
}

// Sum is the sum of some names.
type Sum struct {
	Names int           `json:"names"`
	Spans int           `json:"spans"`
	CPU   time.Duration `json:"cpuNs"`
}

// names returns a row for each total, with the times of the spans that are held.
func (r *Reader) names(totals []store.NameTotal, spreads map[nameKey]*Spread) []Name {
	held, labels := r.services(), map[nameKey]int{} // the number of names of a label
	for _, t := range totals {
		if t.Spans > 0 { // the earlier name of a renamed span has samples only
			labels[nameKey{Service: t.Service, Name: t.Label}]++
		}
	}
	rows := make([]Name, 0, len(totals))
	for _, t := range totals {
		row := Name{NameTotal: t, CPUInclusive: t.CPU}
		if s := spreads[nameKey{Service: t.Service, Name: t.Name}]; s != nil {
			row.Spread = *s
			row.CPUInclusive += max(0, s.Below)
		}
		// Without a sample only the name is known.
		label := cmp.Or(t.Label, t.Name)
		if shared := labels[nameKey{Service: t.Service, Name: label}] > 1; t.Name != "" && (label == t.Name || !shared) {
			row.Query = held.query(t.Service).OfType(r.cpuType()).WithEqual(labelkey.SpanName, label).String()
		}
		rows = append(rows, row)
	}
	return rows
}

// NameTable answers the sums of spans by name: of all that ended in the time of the windows
// held. Of q, the service, the text in the names and the limit count.
func (r *Reader) NameTable(q store.SpanQuery, sort string) (*NameTable, error) {
	t := &NameTable{head: r.head()}
	t.Service = q.Service
	if held := r.services(); q.Service == "" && len(held) > 0 {
		t.Service = held[0]
	}
	var spreads map[nameKey]*Spread
	note := "the profiles here have no times of spans"
	if r.records() {
		spreads = nameSpreads(r.spans(store.SpanQuery{Service: q.Service, Brief: true}))
	}
	var totals []store.NameTotal
	for _, of := range r.nameTotals() {
		if (q.Service == "" || of.Service == q.Service) && (of.Name != "" || of.CPU > 0) && strings.Contains(strings.ToLower(of.Name), strings.ToLower(q.Contains)) {
			totals = append(totals, of)
		}
	}
	t.Names = r.names(totals, spreads)
	if r.records() {
		t.labelled(r, q.Service)
		note = ""
		if !q.From.IsZero() || !q.Until.IsZero() {
			note = "these are the sums of all the time held"
		}
	}
	t.arrange(sort, q.Limit)
	t.Note = r.notes(note)
	return answered(r, t)
}

// labelled fills in what needs labels of samples: waits, heap, and CPU time without span_name.
func (t *NameTable) labelled(r *Reader, service string) {
	totals := func(kind exporter.Kind, typ flameql.Type) map[nameKey]time.Duration {
		if !r.has(kind) || r.err != nil {
			return nil
		}
		q := Query{Query: flameql.Query{Type: typ}, service: service}
		asked := q.store()
		asked.Labels = []string{"service_name", labelkey.SpanName}
		all := map[nameKey]time.Duration{}
		for _, s := range r.sumsOf("sums by label", q, asked).Sums {
			all[nameKey{Service: s.Labels[0], Name: s.Labels[1]}] += time.Duration(s.Value)
		}
		if errors.Is(r.err, store.ErrUnknownSampleType) { // a heap profile of another tool
			r.err = nil
		}
		return all
	}
	ran, waited := totals(r.cpuType().Kind, r.cpuType()), totals(exporter.KindWall, flameql.Wall)
	allocated := totals(exporter.KindHeap, flameql.Allocated) // in bytes
	for key, cpu := range ran {
		if key.Name == "" {
			t.UnlabelledCPU += cpu
		}
	}
	for i := range t.Names {
		row := &t.Names[i]
		if row.Name == "" { // Spans without a name have samples of their own all the same.
			t.UnlabelledCPU = max(0, t.UnlabelledCPU-row.CPU)
			continue
		}
		key := nameKey{Service: row.Service, Name: cmp.Or(row.Label, row.Name)}
		if wall, ok := waited[key]; ok && row.Query != "" {
			wait := max(0, wall-ran[key])
			row.Wait = &wait
		}
		if bytes := int64(allocated[key]); bytes > 0 && row.Query != "" {
			row.Allocated = &bytes
		}
	}
}

// sorts are what names are sorted by, each descending; names are sorted otherwise.
var sorts = map[string]func(*Name) time.Duration{
	"cpu":    func(n *Name) time.Duration { return n.CPUInclusive },
	"self":   func(n *Name) time.Duration { return n.CPU },
	"waits":  func(n *Name) time.Duration { return *cmp.Or(n.Wait, new(time.Duration(-1))) },
	"memory": func(n *Name) time.Duration { return time.Duration(*cmp.Or(n.Allocated, new(int64))) },
	"spans":  func(n *Name) time.Duration { return time.Duration(n.Spans) },
	"errors": func(n *Name) time.Duration { return time.Duration(n.Errors) },
	"p50":    func(n *Name) time.Duration { return n.times().P50 },
	"p95":    func(n *Name) time.Duration { return n.times().P95 },
	"max":    func(n *Name) time.Duration { return n.times().Max },
	"name":   nil,
}

func (n *Name) times() Times { return *cmp.Or(n.Durations, new(Times)) }

// Sorts are the orders of a table.
var Sorts = slices.Sorted(maps.Keys(sorts))

// arrange sorts and sums the names, and cuts them to the limit.
func (t *NameTable) arrange(sort string, limit int) {
	t.Sort = sort
	value := sorts[sort]
	slices.SortFunc(t.Names, func(a, b Name) int {
		byName := cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
		if sort == "name" {
			return byName
		}
		return cmp.Or(cmp.Compare(value(&b), value(&a)), cmp.Compare(b.CPUInclusive, a.CPUInclusive), byName)
	})
	for i := range t.Names {
		t.Total.Names++
		t.Total.Spans += t.Names[i].Spans
		t.Total.CPU += t.Names[i].CPU
	}
	shown := min(limit, len(t.Names))
	t.Omitted = len(t.Names) - shown
	t.Names = t.Names[:shown]
}

// Text returns the table for a terminal.
func (t *NameTable) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s, %s of CPU time, by %s\n", t.title(), termtext.Plural(t.Total.Names, "name"), termtext.Plural(t.Total.Spans, "span"), duration(t.Total.CPU), t.Sort)
	writeNote(&b, t.Note)
	if len(t.Names) == 0 {
		b.WriteString("no names\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\n%8s %8s %8s %7s %6s %8s %8s %8s  %s\n", "cpu", "own", "waits", "spans", "errors", "p50", "p95", "max", "name")
	for _, n := range t.Names {
		waits, p50, p95, longest := "-", "-", "-", "-"
		if n.Wait != nil {
			waits = duration(*n.Wait)
		}
		if d := n.Durations; d != nil {
			p50, p95, longest = duration(d.P50), duration(d.P95), duration(d.Max)
		}
		name := cmp.Or(n.Name, "(unnamed)")
		if len(t.Services) > 1 {
			name += " (" + n.Service + ")"
		}
		fmt.Fprintf(&b, "%8s %8s %8s %7d %6d %8s %8s %8s  %s\n", duration(n.CPUInclusive), duration(n.CPU), waits, n.Spans, n.Errors, p50, p95, longest, termtext.Clip(termtext.OneLine(name), 30))
	}
	if t.Omitted > 0 {
		fmt.Fprintf(&b, "%s left out: set limit\n", termtext.Plural(t.Omitted, "more name"))
	}
	if t.UnlabelledCPU > 0 {
		fmt.Fprintf(&b, "%8s of samples without span_name\n", duration(t.UnlabelledCPU))
	}
	return b.String()
}
