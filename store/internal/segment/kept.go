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

	"github.com/spanprof/spanprof/internal/sorting"
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

// keepWith rebuilds the kept segment when a segment is dropped. pending bounds the rows without
// a record. Rows of dropped with the ids twice are left out.
func (r *Room) keepWith(dropped *Segment, pending int64, twice map[ident.Key]bool) {
	k := r.keeper(dropped)
	k.twice = twice
	r.replaceKept(k, k.build(pending))
}

// keeper chooses the spans of a kept segment. Nothing that it reads changes, and so it needs
// no lock.
type keeper struct {
	room *Room
	// sources are the kept segment and the dropped one, newer all others.
	sources, newer []*Segment
	running        map[string]bool // nil if unknown
	twice          map[ident.Key]bool
	part           float64 // of the bytes that are planned
	// rows is the number of rows of each id in the sources.
	rows map[ident.Key]int64
	// runs, ends and others are ids without a record in the sources, the oldest first: of
	// spans that run, that a newer segment has, and of all others.
	runs, ends, others []ident.Key
	// roots has the traces of children, and whether a newer segment has a span of each.
	roots         map[trace.TraceID]bool
	unended, lost int64
}

func (r *Room) keeper(dropped *Segment) *keeper {
	k := &keeper{room: r, sources: []*Segment{dropped}, part: r.keptPart, rows: make(map[ident.Key]int64), roots: make(map[trace.TraceID]bool)}
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
// rows. Rows of spans that have not ended pass into it too.
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
	r.counts.Unended += k.unended
	r.counts.Lost += k.lost
	r.kept, r.keptPart = kept, k.part
	if r.disk != nil && r.kept != nil {
		r.disk.add(job{kept: r.kept})
	}
}

// survey counts the rows of each id, and finds how far the span of each is.
func (k *keeper) survey() {
	var order []groupID
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
					order = append(order, groupID{id, s.groups.ids[g].trace})
				}
				k.rows[id] += n
			}
		}
		for i := range s.spans.list {
			if r := &s.spans.list[i]; r.child {
				k.roots[r.trace] = false
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
			if _, ok := k.roots[r.trace]; ok && !r.child {
				k.roots[r.trace] = true
			}
		}
	}
	for _, id := range order {
		switch {
		case k.room.unlisted(id.trace), slices.ContainsFunc(k.sources, func(s *Segment) bool { return s.spans.find(id.span) != nil }):
		case newer[id.span]:
			k.ends = append(k.ends, id.span)
		case k.running == nil, k.running[id.span.String()], k.running[id.trace.String()]:
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

// nameRanks is a list of spans with a rank. seen is when the name was seen last.
type nameRanks struct {
	ranking
	seen int64
	ids  []ranked
}

// ranks returns the spans with a rank. The spans of names that were seen last are first, and
// of one name the higher bands.
func (k *keeper) ranks() (places []nameRanks) {
	lists, types := make(rankings), make(map[nameKey]int)
	seen := make(map[nameKey]int64)
	all := slices.Concat(k.sources, k.newer[:len(k.newer)-1])
	for _, s := range k.sources {
		lists.add(s, k.room.keys, types, func(r *record) (cpu int64) {
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
		p := nameRanks{of, seen[nameKey{of.service, of.name}], ids}
		if of.band < 0 {
			p.band += 100 // errors and CPU time before all bands
		}
		places = append(places, p)
	}
	sorting.Func(places, func(a, b nameRanks) int {
		return cmp.Or(cmp.Compare(b.seen, a.seen), cmp.Compare(a.service, b.service), cmp.Compare(a.name, b.name), cmp.Compare(b.band, a.band), cmp.Compare(a.text, b.text))
	})
	return places
}

// choose returns as many of the spans with a rank as have room.
func (k *keeper) choose(places []nameRanks, budget int64) map[ident.Key]bool {
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

// pending returns ids without a record in the sources that stay. Spans that ended later have
// the budget, with children of such traces. Spans that run have it too, and others
// what these leave. The newest are first.
func (k *keeper) pending(budget int64) map[ident.Key]bool {
	ids := make(map[ident.Key]bool)
	take := func(list []ident.Key, budget int64) (left, missed int64) {
		for _, id := range slices.Backward(list) {
			if cost := rowBytes * k.rows[id]; cost <= budget {
				budget -= cost
				ids[id] = true
			} else {
				missed++
			}
		}
		return budget, missed
	}
	ended, missed := take(k.ends, budget)
	left, unended := take(k.runs, budget)
	_, k.lost = take(k.others, left)
	k.unended = missed + unended
	for _, s := range slices.Backward(k.sources) {
		for i := 0; i < len(s.spans.list) && ended > spanBytes; i++ {
			if r := &s.spans.list[i]; r.child && k.roots[r.trace] {
				ended -= spanBytes
				ids[r.id] = true
			}
		}
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
		k.copySpans(to, s, chosen, pending, traces)
	}
	if len(to.windows) == 0 && len(to.spans.list) == 0 {
		return nil
	}
	to.spans.totals = nil // it is no part of any sum
	return to.seal(nil)
}

// copySpans copies the spans chosen, with the children of traces.
func (k *keeper) copySpans(to, from *Segment, chosen, pending map[ident.Key]bool, traces map[trace.TraceID]bool) {
	for i := range from.spans.list {
		e := &from.spans.list[i]
		ended := from.spans.ended(e)
		wanted := chosen[e.id] || e.child && (traces[e.trace] || pending[e.id])
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
func (l rankings) add(s *Segment, keys *attributes.Keys, types map[nameKey]int, cpu func(*record) int64) {
	for i := range s.spans.list {
		r := &s.spans.list[i]
		if r.child {
			continue
		}
		of := ranking{service: s.spans.texts.list[r.service], name: s.spans.texts.list[r.name], band: band(r.duration)}
		l.enter(of, ranked{r.id, r.duration}, perBand)
		of.band = cpuBand
		if n := cpu(r); n > 0 {
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
