// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// keptShare is the part of all bytes that the kept segment takes at most. pendingShare
	// is the part for rows of spans without a record there.
	keptShare    = 4
	pendingShare = 16
	// rowBytes is about the memory of a kept row. spanBytes is the memory of a kept span, with
	// the ids of its rows.
	rowBytes  = 24
	spanBytes = 320
	// firstRanks is how many spans of each list are chosen before all others.
	firstRanks = 3
)

// keep rebuilds the kept segment when a segment is dropped. It has the spans with a rank of
// both, with their rows. Rows of spans that have not ended pass into it too.
func (r *Room) keep(dropped *Segment) { r.keepWith(dropped, r.maxBytes/pendingShare, nil) }

// keepWith is keep with a bound on the rows without a record. Rows of dropped with the ids
// twice are left out.
func (r *Room) keepWith(dropped *Segment, pending int64, twice map[ident.Key]bool) {
	sources := []*Segment{dropped}
	if r.kept != nil {
		sources = []*Segment{r.kept, dropped}
	}
	k := keeper{room: r, sources: sources, twice: twice, rows: make(map[ident.Key]int64), newer: make(map[ident.Key]bool)}
	k.survey()
	limit := r.maxBytes / keptShare
	budget := limit - pending
	for range 6 { // the memory of a row is only known after the copy
		r.kept = k.copy(k.choose(budget), k.pending(pending))
		if r.kept == nil || r.kept.bytes() <= limit {
			break
		}
		part := float64(limit) / float64(r.kept.bytes()) * 0.9
		budget, pending = int64(float64(budget)*part), int64(float64(pending)*part)
	}
	for _, s := range sources {
		r.counts.SpansEvicted += int64(s.own())
	}
	if r.kept != nil {
		r.counts.SpansEvicted -= int64(r.kept.own())
	}
	r.counts.Unended += k.unended
	if r.disk != nil && r.kept != nil {
		r.disk.add(job{kept: r.kept})
	}
}

// keeper chooses the spans of a kept segment.
type keeper struct {
	room    *Room
	sources []*Segment
	// rows is the number of rows of each id in the sources. newer has the ids with a
	// record in a newer segment.
	rows    map[ident.Key]int64
	newer   map[ident.Key]bool
	order   []ident.Key // ids of rows, the oldest first
	unended int64
	twice   map[ident.Key]bool
}

// survey counts the rows of each id.
func (k *keeper) survey() {
	for _, s := range append(slices.Clip(k.room.sealed), k.room.open) {
		for i := range s.spans.list {
			k.newer[s.spans.list[i].id] = true
		}
	}
	for _, s := range k.sources {
		of := make([]int64, len(s.groups.ids))
		for _, w := range s.windows {
			for row := range w.len() {
				of[w.groups.At(row)]++
			}
		}
		for g, n := range of {
			for _, id := range s.named(uint32(g)) {
				if k.rows[id] == 0 && n > 0 {
					k.order = append(k.order, id)
				}
				k.rows[id] += n
			}
		}
	}
}

// named returns the spans that a group belongs to: by its ids, or after the end.
func (s *Segment) named(g uint32) []ident.Key {
	profile, span := s.idsIn(g)
	ids := []ident.Key{profile, span, s.ended(g)}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id ident.Key) bool { return id == 0 })
}

// choose returns the spans with a rank, as many as have room. The spans of names that were
// seen last are first, and of one name the higher bands.
func (k *keeper) choose(budget int64) map[ident.Key]bool {
	lists, types := make(rankings), make(map[nameKey]int)
	seen := make(map[nameKey]int64)
	all := append(slices.Clip(k.sources), k.room.sealed...)
	for _, s := range k.sources {
		lists.add(s, k.room.keys, types, func(id ident.Key) (cpu int64) {
			for _, of := range all {
				sums, _, _ := of.index.of(of, id)
				cpu += sums.CPU
			}
			return cpu
		})
		for i := range s.spans.list {
			e := &s.spans.list[i]
			key := nameKey{s.spans.texts.list[e.service], s.spans.texts.list[e.name]}
			seen[key] = max(seen[key], e.end())
		}
	}
	for _, s := range append(slices.Clip(k.room.sealed), k.room.open) {
		for _, t := range s.spans.totals {
			seen[nameKey{t.Service, t.Name}] = math.MaxInt64
		}
	}
	type place struct {
		ranking
		seen int64
		ids  []ranked
	}
	var places []place
	for of, ids := range lists {
		p := place{of, seen[nameKey{of.service, of.name}], ids}
		if of.band < 0 {
			p.band += 100 // errors and CPU time before all bands
		}
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.seen, a.seen), cmp.Compare(a.service, b.service), cmp.Compare(a.name, b.name), cmp.Compare(b.band, a.band), cmp.Compare(a.text, b.text))
	})
	chosen := make(map[ident.Key]bool)
	choose := func(ids []ranked) {
		for _, of := range ids {
			if cost := spanBytes + rowBytes*k.rows[of.id]; !chosen[of.id] && cost <= budget {
				budget -= cost
				chosen[of.id] = true
			}
		}
	}
	for _, p := range places {
		choose(p.ids[:min(len(p.ids), firstRanks)])
	}
	for _, p := range places {
		choose(p.ids[min(len(p.ids), firstRanks):])
	}
	return chosen
}

// pending returns the ids of rows without a record in the sources: their span has not
// ended, or it ended later. Both have the budget, and the newest are first.
func (k *keeper) pending(budget int64) map[ident.Key]bool {
	ids, ended := make(map[ident.Key]bool), budget
	k.unended = 0
	for _, id := range slices.Backward(k.order) {
		if slices.ContainsFunc(k.sources, func(s *Segment) bool { return s.spans.find(id) != nil }) {
			continue
		}
		to := &budget
		if k.newer[id] {
			to = &ended
		}
		if cost := rowBytes * k.rows[id]; cost > *to {
			k.unended++
		} else {
			*to -= cost
			ids[id] = true
		}
	}
	return ids
}

// copy returns a segment with the spans chosen and the rows of both, nil if it is empty.
func (k *keeper) copy(chosen, pending map[ident.Key]bool) *Segment {
	to := newSegment()
	for i, s := range k.sources {
		c := newCopier(to, s)
		keep := make([]bool, len(s.groups.ids))
		for g := range keep {
			ids := s.named(uint32(g))
			keep[g] = slices.ContainsFunc(ids, func(id ident.Key) bool { return chosen[id] || pending[id] }) &&
				!(i == len(k.sources)-1 && slices.ContainsFunc(ids, func(id ident.Key) bool { return k.twice[id] }))
		}
		for _, w := range s.windows {
			var rows []int
			for row := range w.len() {
				if keep[w.groups.At(row)] {
					rows = append(rows, row)
				}
			}
			if len(rows) > 0 {
				c.window(w, rows)
			}
		}
		k.copySpans(to, s, chosen)
	}
	if len(to.windows) == 0 && len(to.spans.list) == 0 {
		return nil
	}
	to.spans.totals = nil // it is no part of any sum
	return to.seal(nil)
}

// copySpans copies the spans chosen, with their children.
func (k *keeper) copySpans(to, from *Segment, chosen map[ident.Key]bool) {
	traces := make(map[trace.TraceID]bool)
	for i := range from.spans.list {
		if e := &from.spans.list[i]; chosen[e.id] {
			traces[e.trace] = true
		}
	}
	for i := range from.spans.list {
		e := &from.spans.list[i]
		ended := from.spans.ended(e)
		wanted := chosen[e.id] || e.child && traces[e.trace]
		if !wanted || !to.spans.add(&ended) {
			continue
		}
		if p := from.processOf(e); p != nil {
			to.spans.list[len(to.spans.list)-1].process = to.number(p)
		}
	}
}

const (
	// perBand is how many spans of a name have a rank for each latency band: the slowest.
	// As many with the most CPU time have one.
	perBand = 10
	// perError is how many errors of a name and type have a rank. maxErrorTypes bounds the
	// types of a name.
	perError      = 3
	maxErrorTypes = 16
	// errorBand and cpuBand are lists beside the bands of latency.
	errorBand = -1
	cpuBand   = -2
)

// band returns the latency band of a span. The bands end at 1 ms, 4 ms, 16 ms and so on.
func band(duration int64) int {
	b := 0
	for ; duration >= int64(time.Millisecond) && b < 9; duration /= 4 {
		b++
	}
	return b
}

// ranking is a list of spans with a rank. text distinguishes errors.
type ranking struct {
	service, name, text string
	band                int
}

// ranked is a span in a list.
type ranked struct {
	id    ident.Key
	value int64
}

// rankings are the spans with a rank. Of a name they are the slowest of each band, and the
// spans with the most CPU time. The last errors of each type have a rank too.
type rankings map[ranking][]ranked

// add ranks the spans of a segment. cpu returns the CPU time of a span.
func (l rankings) add(s *Segment, keys *attributes.Keys, types map[nameKey]int, cpu func(ident.Key) int64) {
	for i := range s.spans.list {
		r := &s.spans.list[i]
		if r.child {
			continue
		}
		of := ranking{service: s.spans.texts.list[r.service], name: s.spans.texts.list[r.name], band: band(r.duration)}
		l.enter(of, ranked{r.id, r.duration}, perBand)
		of.band = cpuBand
		if n := cpu(r.id); n > 0 {
			l.enter(of, ranked{r.id, n}, perBand)
		}
		if r.err {
			of.band, of.text = errorBand, errorType(s.spans.texts.list[r.status], s.spans.texts.list[r.attributes], keys)
			if _, ok := l[of]; !ok {
				key := nameKey{of.service, of.name}
				if types[key]++; types[key] > maxErrorTypes {
					of.text = otherName
				}
			}
			l.enter(of, ranked{r.id, r.end()}, perError)
		}
	}
}

// errorType returns what an error has in common with others: its type, or its status without
// digits, which may be ids.
func errorType(status, set string, keys *attributes.Keys) string {
	for e := range keys.All(set) {
		if e.Key == attributes.ErrorType || e.Key == attributes.ExceptionType {
			return e.Value
		}
	}
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, status)
}

// enter puts a span into a sorted list of at most n.
func (l rankings) enter(to ranking, r ranked, n int) {
	of := l[to]
	if len(of) == n && of[n-1].value >= r.value {
		return
	}
	i, _ := slices.BinarySearchFunc(of, r, func(a, b ranked) int { return cmp.Compare(b.value, a.value) })
	of = slices.Insert(of, i, r)
	l[to] = of[:min(len(of), n)]
}
