// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"iter"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// Restored is a span of an earlier process.
type Restored struct {
	TraceID                      trace.TraceID
	SpanID, ParentID             trace.SpanID
	Service, Name, Label, Status string
	Attributes                   []attributes.Entry
	Start, Duration              int64
	// Samples are those of the span's whole life but for Held, which begins at 0.
	Samples
	Err, LocalRoot bool
	Lost           Lost
	Coverage       cputime.Held
	// Earlier is the number of its process, above 0.
	Earlier uint8
}

// Restore takes in spans of earlier processes, as the oldest that there are. They come
// newest first; one that is there already stays as it is. It returns false where there
// is no more room: nothing of this process makes room for them.
func (l *Log) Restore(spans []Restored) bool {
	for i := range spans {
		s := &spans[i]
		var set []byte
		if l.keys != nil && len(s.Attributes) > 0 {
			set = l.keys.Set(s.Attributes)
		}
		if !l.restore(s, set) {
			return false
		}
	}
	return true
}

func (l *Log) restore(s *Restored, set []byte) bool {
	l.lockIndexed()
	defer l.mu.Unlock()
	key := ident.NewKey(s.SpanID)
	if _, ok := l.indexed(key); ok || key == 0 {
		return true
	}
	// An eighth is left to what comes.
	if l.bytes > l.maxBytes/8*7 || l.unused == 0 && (len(l.chunks)+1)*chunkLen > l.maxRows/8*7 {
		return false
	}
	id := l.newRow()
	r := l.row(id)
	r.TraceID, r.SpanID, r.ParentID = s.TraceID, s.SpanID, s.ParentID
	l.setIndex(&l.lookup.ended, key, id)
	r.Start, r.Duration, r.Samples = s.Start, s.Duration, s.Samples
	r.Held = 0
	r.Err, r.LocalRoot, r.Lost, r.Earlier, r.saved = s.Err, s.LocalRoot, s.Lost, s.Earlier, 1+uint8(s.Coverage)
	l.setStatus(r, s.Status)
	name := l.retainName(s.Service, s.Name)
	r.name = name.ref
	if len(set) > 0 {
		r.attributes = l.retainSet(asString(set)).ref
	}
	if r.Err {
		l.pushFirst(id, errorList)
	} else {
		l.pushFirst(id, newestList)
	}
	l.setLabel(r, s.Label)
	if !r.LocalRoot {
		l.inner++
	}
	l.restored++
	l.sawEarlier(name, r.Start+r.Duration)
	l.offerEarlier(id)
	l.generation.Add(1)
	return true
}

// pushFirst makes a record the oldest of a list.
func (l *Log) pushFirst(id rowID, to listID) {
	r, list := l.row(id), &l.lists[to]
	r.list, r.prev, r.next = to, 0, list.first
	if list.first != 0 {
		l.row(list.first).prev = id
	} else {
		list.last = id
	}
	list.first = id
	list.len++
	l.enlistTexts(r, +1)
}

// sawEarlier is saw for a span that ended before those that were seen.
func (l *Log) sawEarlier(n *Name, end int64) {
	last := int64(0)
	if n.keeper != nil {
		last = n.keeper.last
	}
	l.saw(n, end)
	if n.keeper != nil {
		n.keeper.last = max(last, n.keeper.last)
	}
}

// offerEarlier is offer for a restored span: it takes the place of no newer error.
func (l *Log) offerEarlier(id rowID) {
	r := l.row(id)
	if r.Err && r.CPUCount > 0 && len(l.errorTypes) >= l.maxErrorTypes {
		hash := l.errorHash(r)
		for i := range l.errorTypes {
			if l.errorTypes[i].hash == hash {
				l.offer(id)
				return
			}
		}
		if k := l.nameOf(r).keeper; k != nil {
			for of := range extremesLen {
				l.offerFor(k, id, of)
			}
		}
		return
	}
	l.offer(id)
}

// JoinEarlier adds the samples of a restored window to those held of their spans, whose
// CPU time has them already. It returns the numbers of the groups whose profile_id names
// no known span.
func (l *Log) JoinEarlier(groups iter.Seq[Group]) (loose []uint32) {
	batches(groups, func(some []Group) {
		l.mu.Lock()
		l.indexInSteps()
		defer l.mu.Unlock()
		l.generation.Add(1)
		for i := range some {
			g := &some[i]
			l.holdEarlier(g.Span, g)
			known := g.Profile != g.Span && l.holdEarlier(g.Profile, g)
			if g.Loose && !known {
				loose = append(loose, uint32(g.Index))
			}
		}
	})
	return loose
}

func (l *Log) holdEarlier(key ident.Key, g *Group) bool {
	id, ok := l.indexed(key)
	if !ok || key == 0 {
		return false
	}
	l.save(id)
	l.row(id).Held += g.Held
	return true
}

// Ran is when a span of an earlier process ran, in nanoseconds since 1970.
type Ran struct{ Start, End int64 }

// MissingEarlier returns when the restored spans ran that are kept for longer, and of
// which not all samples are held.
func (l *Log) MissingEarlier() (ran []Ran) {
	l.eachCopy(func(r *Row) bool {
		return r.Earlier != 0 && r.kept() && r.places != 0 && r.Held < r.CPUCount+r.WallCount
	}, func(r *Record) { ran = append(ran, Ran{r.Start, r.Start + r.Duration}) })
	return ran
}

// KeepEarlier is JoinEarlier for a window of which only the groups are kept whose spans
// outlive others. It returns these.
func (l *Log) KeepEarlier(groups iter.Seq[Group]) (kept []Kept) {
	batches(groups, func(some []Group) {
		l.mu.Lock()
		l.indexInSteps()
		defer l.mu.Unlock()
		l.generation.Add(1)
		for i := range some {
			g := &some[i]
			for _, key := range [...]ident.Key{g.Span, g.Profile, g.Ended} {
				if !l.pinned(key) {
					continue
				}
				kept = append(kept, Kept{g.Index, key})
				l.holdEarlier(g.Span, g)
				if g.Profile != g.Span {
					l.holdEarlier(g.Profile, g)
				}
				break
			}
		}
	})
	return kept
}

// Settled reports whether the log has done for spans of an earlier process what it could:
// each is kept for longer, or others of its name are worth more. Where there is no room
// for its name or for its type of error, it has not.
func (l *Log) Settled(keys []ident.Key) bool {
	l.lockIndexed()
	defer l.mu.Unlock()
	for _, key := range keys {
		id, ok := l.indexed(key)
		if !ok {
			return false
		}
		r := l.row(id)
		if r.places != 0 {
			continue
		}
		if k := l.nameOf(r).keeper; k == nil || k == &l.others || r.Err && len(l.errorTypes) >= l.maxErrorTypes {
			return false
		}
	}
	return true
}
