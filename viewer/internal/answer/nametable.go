// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer/byname"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// NameTable is the table of all names.
type NameTable struct {
	byname.Table
	Status *Status `json:"status,omitempty"`
}

// WithoutStatus implements Data.
func (t *NameTable) WithoutStatus() (any, *Status) {
	rest := *t
	rest.Status = nil
	return &rest, t.Status
}

// Lasts implements Data: a span that runs is in no sum.
func (t *NameTable) Lasts() bool { return true }

// NameOrder is the order and the length of the table.
type NameOrder struct {
	Sort      string
	Ascending bool
	Limit     int
}

// NameTable answers the sums of spans by name: of all that ended in the time of the windows
// held. If q has conditions, the sums are of the spans with a record that meet them.
func (r *Reader) NameTable(q store.SpanQuery, order NameOrder) (*NameTable, error) {
	held := r.services()
	t := &NameTable{byname.Table{Generation: r.generation(), Names: []byname.Name{}, Fixed: r.fixed(), Ranged: r.ranged()}, r.status}
	if held.several() {
		t.Services = held
	}
	process := flameql.Query{Type: r.cpuType()}
	if q.Service != "" {
		process = held.query(q.Service).OfType(r.cpuType())
	}
	t.Query = process.String()
	t.Service = q.Service
	if t.Service == "" && len(held) > 0 {
		t.Service = held[0]
	}
	n := &nameTable{Reader: r, table: &t.Table, asked: q, held: held}
	measured := r.records()
	if measured {
		of := q
		of.Running, of.Requests, of.Limit, of.Order, of.Brief = false, false, 0, store.Newest, true
		n.spreads = sums.NameSpreads(r.spans(of))
	}
	var notes []string
	switch {
	case measured && narrowed(q):
		t.Selected = true
		n.ofRecords()
		notes = append(notes, "these are the sums of the spans that are held and meet the conditions")
	default:
		n.ofAll()
		if !measured {
			notes = append(notes, "the profiles here know no times of spans")
			beyond := q
			beyond.Name, beyond.Contains = "", ""
			if r.ranged() {
				beyond.From, beyond.Until = time.Time{}, time.Time{}
			}
			if narrowed(beyond) {
				notes = append(notes, "conditions on spans other than their names do nothing here")
			}
		}
	}
	if measured && !t.Selected {
		n.unlabelled()
		n.waits()
		if note := n.unmeasured(); note != "" {
			notes = append(notes, note)
		}
	}
	t.Arrange(order.Sort, order.Ascending, order.Limit)
	t.Note = r.notes(notes...)
	return answered(r, t)
}

// narrowed reports whether a query has conditions beside the service.
func narrowed(q store.SpanQuery) bool {
	return q.Name != "" || q.Contains != "" || len(q.Attributes) > 0 || q.Below != "" || q.TraceID != "" || q.OnlyErrors ||
		q.MinDuration > 0 || q.MaxDuration > 0 || !q.From.IsZero() || !q.Until.IsZero()
}

// nameTable is what a table is made with.
type nameTable struct {
	*Reader
	table   *byname.Table
	asked   store.SpanQuery
	held    services
	spreads []sums.NameSpread
}

// ofRecords makes a row of each spread.
func (n *nameTable) ofRecords() {
	labels := make(map[sums.Name]int)
	for _, s := range n.spreads {
		labels[sums.Name{Service: s.Service, Name: cmp.Or(s.Label, s.Name.Name)}]++
	}
	for _, s := range n.spreads {
		row := n.row(s.Service, s.Name.Name, s.Label, labels)
		row.Spans, row.Errors, row.WallNs, row.CPUNs = s.Spans, s.Errors, s.Duration.Nanoseconds(), s.CPU.Nanoseconds()
		n.add(row, &s)
	}
}

// ofAll makes a row of each total, with the times of the spans with a record.
func (n *nameTable) ofAll() {
	spreads := make(map[sums.Name]*sums.NameSpread, len(n.spreads))
	for i := range n.spreads {
		spreads[n.spreads[i].Name] = &n.spreads[i]
	}
	totals := n.nameTotals()
	labels := sums.LabelNames(totals)
	for _, t := range totals {
		if n.asked.Service != "" && t.Service != n.asked.Service || t.Name == "" && t.CPU == 0 {
			continue
		}
		// A source with records answers conditions by ofRecords.
		if n.asked.Name != "" && t.Name != n.asked.Name || !containsText(t.Name, n.asked.Contains) {
			continue
		}
		row := n.row(t.Service, t.Name, t.Label, labels)
		row.Spans, row.Errors, row.WallNs, row.CPUNs = t.Spans, t.Errors, t.Duration.Nanoseconds(), t.CPU.Nanoseconds()
		n.add(row, spreads[sums.Name{Service: t.Service, Name: t.Name}])
	}
}

func (n *nameTable) row(service, name, label string, labels map[sums.Name]int) byname.Name {
	if name == "" {
		return byname.Name{Service: service} // No query selects what has no name.
	}
	label = cmp.Or(label, name)
	row := byname.Name{Name: name, Service: service, Query: n.held.query(service).OfType(n.cpuType()).WithEqual(labelkey.SpanName, label).String()}
	if label != name {
		row.Label, row.LabelNames = label, labels[sums.Name{Service: service, Name: label}]
	}
	return row
}

// add adds a row with the times of its spans, which may be nil. Its own CPU time is known.
func (n *nameTable) add(row byname.Name, s *sums.NameSpread) {
	row.CPUInclusiveNs = row.CPUNs
	if s != nil {
		// What is below the spans is known of those with a record.
		below := (s.CPUInclusive - s.CPU).Nanoseconds()
		row.CPUInclusiveNs = max(row.CPUNs+below, row.CPUNs)
		n.table.Inclusive = n.table.Inclusive || below > 0
		row.Measured = s.Spans
		row.Durations = times(s.Durations)
	}
	n.table.Names = append(n.table.Names, row)
}

func times(s sums.Spread) *byname.Times {
	if s.Count == 0 {
		return nil
	}
	return &byname.Times{P50Ns: s.P50.Nanoseconds(), P95Ns: s.P95.Nanoseconds(), MaxNs: s.Max.Nanoseconds()}
}

// labelTotals returns the value of a type by service and label, in some time.
func (n *nameTable) labelTotals(service string, t flameql.Type, from, until time.Time) map[sums.Name]int64 {
	q := Query{Query: flameql.Query{Type: t}, From: from, Until: until, service: service}
	asked := q.store()
	asked.Labels = sums.Labels
	return sums.LabelTotals(n.sumsOf("sums by label", q, asked))
}

// unlabelled fills in the CPU time of samples without span_name.
func (n *nameTable) unlabelled() {
	for key, value := range n.labelTotals(n.asked.Service, n.cpuType(), time.Time{}, time.Time{}) {
		if key.Name == "" {
			n.table.UnlabelledCPUNs += value
		}
	}
	for i := range n.table.Names {
		// Spans without a name have samples of their own all the same.
		if n.table.Names[i].Name == "" {
			n.table.UnlabelledCPUNs = max(0, n.table.UnlabelledCPUNs-n.table.Names[i].CPUNs)
		}
	}
}

// waits fills in wall time less CPU time by the labels of samples. It counts the time of the wall
// profiles of each service.
func (n *nameTable) waits() {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	for _, w := range n.allWindows() { // by their start
		if w.Kind != exporter.KindWall || n.asked.Service != "" && w.Service != n.asked.Service {
			continue
		}
		if _, ok := first[w.Service]; !ok {
			first[w.Service] = w.Start
		}
		if end := sums.End(w); end.After(last[w.Service]) {
			last[w.Service] = end
		}
	}
	for service, from := range first {
		// Windows touch each other: keep clear of those beside the first and the last.
		from, until := from.Add(edge), last[service].Add(-edge)
		waited := n.labelTotals(service, flameql.Wall, from, until)
		ran := n.labelTotals(service, n.cpuType(), from, until)
		for i := range n.table.Names {
			row := &n.table.Names[i]
			key := sums.Name{Service: row.Service, Name: cmp.Or(row.Label, row.Name)}
			if value, ok := waited[key]; ok && row.Service == service && row.LabelNames <= 1 && key.Name != "" {
				waits := max(0, value-ran[key])
				row.WaitNs = &waits
			}
		}
	}
}

// edge is by how much a time is kept clear of the windows beside it.
const edge = time.Millisecond

// unmeasured returns a note with the number of spans without a record.
func (n *nameTable) unmeasured() string {
	spans, missing := 0, 0
	for _, row := range n.table.Names {
		spans += row.Spans
		missing += max(0, row.Spans-row.Measured)
	}
	if missing == 0 {
		return ""
	}
	return fmt.Sprintf("p50, p95, max and the CPU time below spans are of %d of the %s: the records of the others were evicted", spans-missing, termtext.Plural(spans, "span"))
}
