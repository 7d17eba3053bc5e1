// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
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
	// firstRanks is how many spans of each list are chosen before the others of
	// names seen at the same time.
	firstRanks = 3
)

// keeper chooses the spans of a kept segment. Nothing that it reads changes, and so it needs
// no lock.
type keeper struct {
	room *Room
	// sources are the kept segment and the dropped one, newer all others.
	sources, newer []*Segment
	running        map[string]bool    // nil if unknown
	twice          map[ident.Key]bool // rows with these ids are left out of the last source
	part           float64            // of the bytes that are planned
	// rows is the number of rows of each id in the sources.
	rows map[ident.Key]int64
	// runs are ids of spans that run, or that only a newer segment has, the oldest first. others
	// are all others without a record, perhaps of an open span that no goroutine carries now.
	runs, others []ident.Key
	// open has the traces of children, and whether the trace runs or a newer segment has its root.
	open map[trace.TraceID]bool
	// unended is the number of runs without room, lost the number of others.
	unended, lost int64
}

func (r *Room) keeper(dropped *Segment) *keeper {
	k := &keeper{room: r, sources: []*Segment{dropped}, part: r.keptPart, rows: make(map[ident.Key]int64), open: make(map[trace.TraceID]bool)}
	if r.kept != nil {
		k.sources = []*Segment{r.kept, dropped}
	}
	for _, s := range append(slices.Clip(r.sealed), r.open.snapshot()) {
		if s != dropped {
			k.newer = append(k.newer, s)
		}
	}
	if r.Running != nil {
		k.running = r.Running()
	}
	return k
}

// build returns the kept segment. It has the spans with a rank of all sources, with their
// rows. Rows of spans that have not ended pass into it too, and children of such traces.
func (k *keeper) build(pending int64) (kept *Segment) {
	k.survey()
	ranks, limit := k.ranks(), k.room.maxBytes/keptShare
	for range 6 { // mostly once: the memory of a row is as in the last copy
		budget, rest := k.part*float64(limit-pending), k.part*float64(pending)
		kept = k.copy(k.choose(ranks, int64(budget)), k.pending(int64(rest)))
		if kept == nil || kept.bytes() <= limit {
			break
		}
		k.part *= float64(limit) / float64(kept.bytes()) * 0.9
	}
	k.part = min(1, k.part*1.05)
	return kept
}

// replaceKept replaces the kept segment, and counts what is lost.
func (r *Room) replaceKept(k *keeper, kept *Segment) {
	for _, s := range k.sources {
		r.counts.SpansEvicted += int64(s.own())
	}
	if kept != nil {
		r.counts.SpansEvicted -= int64(kept.own())
	}
	if dropped := k.sources[len(k.sources)-1]; !dropped.earlier {
		r.counts.Unended += k.unended
		r.counts.Lost += k.lost
	}
	r.kept, r.keptPart = kept, k.part
	if r.disk != nil && r.kept != nil {
		r.disk.keep(r.kept)
	}
}

// survey counts the rows of each id, and finds how far the span of each is.
func (k *keeper) survey() {
	var order []group
	for _, s := range k.sources {
		of := make([]int64, len(s.groups.list))
		for _, w := range s.windows {
			for row := range w.len() {
				of[w.groups.At(row)]++
			}
		}
		for g, n := range of {
			for _, id := range s.named(uint32(g)) {
				if k.rows[id] == 0 && n > 0 {
					order = append(order, group{span: id, trace: s.groups.list[g].trace})
				}
				k.rows[id] += n
			}
		}
		for i := range s.spans.list {
			if r := &s.spans.list[i]; r.child {
				k.open[r.trace] = k.running[r.trace.String()]
			}
		}
	}
	newer := make(map[ident.Key]bool) // of ids with rows
	for _, s := range k.newer {
		for i := range s.spans.list {
			r := &s.spans.list[i]
			if k.rows[r.id] > 0 {
				newer[r.id] = true
			}
			if _, ok := k.open[r.trace]; ok && !r.child {
				k.open[r.trace] = true
			}
		}
	}
	for _, id := range order {
		switch {
		case k.room.unlisted(id.trace), slices.ContainsFunc(k.sources, func(s *Segment) bool { return s.spans.find(id.span) != nil }):
		case newer[id.span], k.running == nil, k.running[id.span.String()], k.running[id.trace.String()]:
			k.runs = append(k.runs, id.span)
		default:
			k.others = append(k.others, id.span)
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

// nameRanks is a part of a list of spans with a rank. seen is when the name was seen last.
type nameRanks struct {
	ranking
	seen int64
	rest uint64 // 0 for the first ranks, 1 for the others
	ids  []ranked
}

// ranks returns the spans with a rank. The spans of names that were seen last are first. Of
// these the first ranks of each list precede the others, and of one name the higher bands.
func (k *keeper) ranks() (places []nameRanks) {
	lists, types := make(rankings), make(map[nameKey]int)
	seen := make(map[nameKey]int64)
	all := slices.Concat(k.sources, k.newer[:len(k.newer)-1])
	for _, s := range k.sources {
		lists.add(&s.spans, k.room.keys, types, func(r *record) (cpu int64) {
			for _, of := range all {
				if of.until >= r.start && of.from <= r.end()+2*of.longest() {
					sums, _, _ := of.index.of(of, r.id)
					cpu += sums.CPU
				}
			}
			return cpu
		})
		for i := range s.spans.list {
			e := &s.spans.list[i]
			key := nameKey{s.spans.texts.list[e.service], s.spans.texts.list[e.name]}
			seen[key] = max(seen[key], e.end())
		}
	}
	for _, s := range k.newer {
		for _, t := range s.spans.totals {
			seen[nameKey{t.Service, t.Name}] = math.MaxInt64
		}
	}
	for of, ids := range lists {
		last := seen[nameKey{of.service, of.name}]
		if of.band < 0 {
			of.band += 100 // errors and CPU time before all bands
		}
		n := min(len(ids), firstRanks)
		places = append(places, nameRanks{of, last, 0, ids[:n]}, nameRanks{of, last, 1, ids[n:]})
	}
	slices.SortFunc(places, func(a, b nameRanks) int {
		return cmp.Or(cmp.Compare(b.seen, a.seen), cmp.Compare(a.rest, b.rest), cmp.Compare(a.service, b.service), cmp.Compare(a.name, b.name), cmp.Compare(b.band, a.band), cmp.Compare(a.text, b.text))
	})
	return places
}

// choose returns as many of the spans with a rank as have room.
func (k *keeper) choose(places []nameRanks, budget int64) map[ident.Key]bool {
	chosen := make(map[ident.Key]bool)
	for _, p := range places {
		for _, of := range p.ids {
			if cost := spanBytes + rowBytes*k.rows[of.id]; !chosen[of.id] && cost <= budget {
				budget -= cost
				chosen[of.id] = true
			}
		}
	}
	return chosen
}

// pending returns ids of spans that have not ended in the sources, the newest first: spans that
// run, children of open traces, and others.
func (k *keeper) pending(budget int64) map[ident.Key]bool {
	ids := make(map[ident.Key]bool)
	take := func(id ident.Key, cost int64) (missed int64) {
		if cost > budget {
			return 1
		}
		budget -= cost
		ids[id] = true
		return 0
	}
	k.unended, k.lost = 0, 0
	for _, id := range slices.Backward(k.runs) {
		k.unended += take(id, rowBytes*k.rows[id])
	}
	for _, s := range slices.Backward(k.sources) {
		for i := range s.spans.list {
			if r := &s.spans.list[i]; r.child && k.open[r.trace] {
				take(r.id, spanBytes+rowBytes*k.rows[r.id])
			}
		}
	}
	for _, id := range slices.Backward(k.others) {
		k.lost += take(id, rowBytes*k.rows[id])
	}
	return ids
}

// copy returns a segment with the spans chosen and the rows of both, nil if it is empty.
func (k *keeper) copy(chosen, pending map[ident.Key]bool) *Segment {
	to, traces := newSegment(), make(map[trace.TraceID]bool)
	for _, s := range k.sources {
		for i := range s.spans.list {
			if e := &s.spans.list[i]; chosen[e.id] {
				traces[e.trace] = true
			}
		}
	}
	for i, s := range k.sources {
		c := newCopier(to, s)
		keep := make([]bool, len(s.groups.list))
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
		for i := range s.spans.list {
			e := &s.spans.list[i]
			if ended := s.spans.ended(e); (chosen[e.id] || e.child && (traces[e.trace] || pending[e.id])) && to.spans.add(&ended) && (s.earlier || e.earlier) {
				to.spans.list[len(to.spans.list)-1].earlier = true
				if !e.child {
					to.spans.earlier++
				}
			}
		}
	}
	if len(to.windows) == 0 && len(to.spans.list) == 0 {
		return nil
	}
	to.spans.totals = nil // it is no part of any sum
	return to.seal(nil)
}

// markSampled counts the samples of a window by id.
func (s *Segment) markSampled(w *window) {
	for row := range w.len() {
		n := int64(1)
		if w.kind == exporter.KindCPU {
			n = w.count(row)
		}
		profile, span := s.idsIn(uint32(w.groups.At(row)))
		s.spans.sampled[profile] += n
		if span != profile {
			s.spans.sampled[span] += n
		}
	}
	delete(s.spans.sampled, 0)
}
