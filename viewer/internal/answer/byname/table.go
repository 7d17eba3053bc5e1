// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package byname is the table of spans summed by name: its JSON, its order, what it leaves
// out, and its text.
package byname

import (
	"cmp"

	"github.com/spanprof/spanprof/internal/sorting"
)

// Table has the sums of spans by name.
type Table struct {
	// Generation is as in the list of spans.
	Generation string `json:"generation"`
	Service    string `json:"service"`
	// Services are all services with profiles, if there are several.
	Services []string `json:"services,omitempty"`
	// Sort is the order of Names, Order "desc" or "asc".
	Sort  string `json:"sort"`
	Order string `json:"order"`
	Names []Name `json:"names"`
	// Total is the sum of all names, Omitted the sum of the names that are left out.
	Total   Sum `json:"total"`
	Omitted Sum `json:"omitted"`
	// UnlabelledCPUNs is the CPU time of samples without span_name: of no span, as a
	// rule. It is in no row.
	UnlabelledCPUNs int64 `json:"unlabelledCpuNs"`
	// Query selects the CPU time of all, where nothing narrows the spans.
	Query string `json:"query"`
	// Selected is set if the sums are of the spans that meet the request's conditions.
	Selected bool `json:"selected,omitempty"`
	// Inclusive is set if spans have spans below them: CPUInclusiveNs differs from CPUNs.
	Inclusive bool `json:"inclusive,omitempty"`
	// Fixed is set if nothing changes, Ranged if the source cannot be searched as a whole.
	Fixed  bool   `json:"fixed,omitempty"`
	Ranged bool   `json:"ranged,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Sum is the sum of some names.
type Sum struct {
	Names  int   `json:"names"`
	Spans  int   `json:"spans"`
	Errors int   `json:"errors"`
	CPUNs  int64 `json:"cpuNs"`
}

// Name is the sum of the spans of one name in one service.
type Name struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Spans   int    `json:"spans"`
	Errors  int    `json:"errors"`
	WallNs  int64  `json:"wallNs"`
	// CPUNs is the spans' own CPU time. CPUInclusiveNs adds the CPU time of the spans below
	// them in this process.
	CPUNs          int64 `json:"cpuNs"`
	CPUInclusiveNs int64 `json:"cpuInclusiveNs"`
	// WaitNs is the wall time in samples less the CPU time; nil where wall time was not
	// sampled, or is shared with another name.
	WaitNs *int64 `json:"waitNs,omitempty"`
	// Measured is the number of spans with a record, which the times are about.
	Measured  int    `json:"measured"`
	Durations *Times `json:"durations,omitempty"`
	// Query selects the profile of the name. Label and LabelNames are as in a Group of
	// the list of spans.
	Query      string `json:"query"`
	Label      string `json:"label,omitempty"`
	LabelNames int    `json:"labelNames,omitempty"`
}

// Times are quantiles of the times of spans.
type Times struct {
	P50Ns int64 `json:"p50Ns"`
	P95Ns int64 `json:"p95Ns"`
	MaxNs int64 `json:"maxNs"`
}

func (t *Times) of(q string) int64 {
	switch {
	case t == nil:
		return -1
	case q == "p50":
		return t.P50Ns
	case q == "p95":
		return t.P95Ns
	}
	return t.MaxNs
}

// Sorts are the orders of a table. The first is the default.
var Sorts = []string{"cpu", "self", "waits", "wall", "spans", "errors", "p50", "p95", "max", "name"}

// value is what a name is sorted by; names are sorted otherwise.
func (n *Name) value(sort string) int64 {
	switch sort {
	case "self":
		return n.CPUNs
	case "waits":
		if n.WaitNs == nil {
			return -1
		}
		return *n.WaitNs
	case "wall":
		return n.WallNs
	case "spans":
		return int64(n.Spans)
	case "errors":
		return int64(n.Errors)
	case "p50", "p95", "max":
		return n.Durations.of(sort)
	}
	return n.CPUInclusiveNs
}

// Arrange sorts the names, those with the greatest value first unless ascending is set, and
// cuts them to limit.
func (t *Table) Arrange(sort string, ascending bool, limit int) {
	t.Sort, t.Order = sort, "desc"
	if ascending {
		t.Order = "asc"
	}
	sorting.Func(t.Names, func(a, b Name) int {
		by := cmp.Compare(b.value(sort), a.value(sort))
		if sort == "name" {
			by = -cmp.Compare(a.Name, b.Name)
		}
		if ascending {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(b.CPUInclusiveNs, a.CPUInclusiveNs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	for i := range t.Names {
		t.Total.add(&t.Names[i])
	}
	for i := min(limit, len(t.Names)); i < len(t.Names); i++ {
		t.Omitted.add(&t.Names[i])
	}
	t.Names = t.Names[:min(limit, len(t.Names))]
}

func (s *Sum) add(n *Name) {
	s.Names++
	s.Spans += n.Spans
	s.Errors += n.Errors
	s.CPUNs += n.CPUNs
}
