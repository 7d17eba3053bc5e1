// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// fresh are the local roots of a batch of events that started and have no record yet:
// most end in the same batch, and need no place among those that run.
type fresh struct {
	starts []freshStart
	// slots are a hash table of the starts, with open addressing: their numbers from
	// 1 on.
	slots []uint32
	// left is how many have no record.
	left int
}

type freshStart struct {
	key   ident.Key
	event *event
}

// reset makes room for n starts.
func (f *fresh) reset(n int) {
	slots := 16
	for slots < 2*n {
		slots *= 2
	}
	if slots > cap(f.slots) {
		f.slots = make([]uint32, slots)
	}
	f.slots = f.slots[:slots]
	clear(f.slots)
	clear(f.starts)
	f.starts = f.starts[:0]
}

func (f *fresh) add(e *event) {
	f.starts = append(f.starts, freshStart{e.key, e})
	f.left++
	mask := uint32(len(f.slots) - 1)
	i := hashOf(e.key) & mask
	for f.slots[i] != 0 {
		i = (i + 1) & mask
	}
	f.slots[i] = uint32(len(f.starts))
}

// take returns the start of a span, and forgets it; nil if there is none.
func (f *fresh) take(key ident.Key) *event {
	if f.left == 0 {
		return nil
	}
	mask := uint32(len(f.slots) - 1)
	for i := hashOf(key) & mask; f.slots[i] != 0; i = (i + 1) & mask {
		s := &f.starts[f.slots[i]-1]
		if s.key == key && s.event != nil {
			e := s.event
			s.event = nil
			f.left--
			return e
		}
	}
	return nil
}

// has reports whether a span is one of those that started and have no record.
func (f *fresh) has(key ident.Key) bool {
	if f.left == 0 {
		return false
	}
	mask := uint32(len(f.slots) - 1)
	for i := hashOf(key) & mask; f.slots[i] != 0; i = (i + 1) & mask {
		if s := &f.starts[f.slots[i]-1]; s.key == key && s.event != nil {
			return true
		}
	}
	return false
}

// drain takes in the events up to a number. The caller holds the lock.
func (l *Log) drain(until uint64) {
	q := &l.queue
	from := q.known.Load()
	q.sort(from, until)
	q.fresh.reset(len(q.order))
	for _, e := range q.order {
		switch e.kind {
		case started:
			l.comes(e)
		case ended:
			l.ends(e)
		case passedBy:
			l.handUp(e)
		}
	}
	for i := range q.fresh.starts {
		if e := q.fresh.starts[i].event; e != nil {
			q.fresh.left--
			l.runs(e)
		}
	}
	q.release(until)
	if l.changed {
		l.changed = false
		l.generation.Add(1)
	}
	q.known.Store(until)
}

// sort puts the events after one number and up to another in their order. The numbers
// have no gaps.
func (q *queue) sort(after, until uint64) {
	n := int(until - after)
	if n > cap(q.order) {
		q.order = make([]*event, n, max(n, len(q.shards)*int(q.ringLen)))
	}
	q.order = q.order[:n]
	for i := range q.shards {
		s := &q.shards[i]
		s.mu.Lock()
		head, tail := s.head, s.tail
		s.mu.Unlock()
		for ; head != tail; head++ {
			e := &s.ring[head&(q.ringLen-1)]
			if e.seq > until {
				break
			}
			q.order[e.seq-after-1] = e
		}
	}
}

// release frees the places of the events up to a number.
func (q *queue) release(until uint64) {
	for i := range q.shards {
		s := &q.shards[i]
		// Only who holds the lock of the log moves the head.
		head, pinned := s.head, int64(0)
		s.mu.Lock()
		tail := s.tail
		s.mu.Unlock()
		for head != tail {
			e := &s.ring[head&(q.ringLen-1)]
			if e.seq > until {
				break
			}
			pinned += int64(e.pinned)
			*e = event{}
			head++
		}
		if head == s.head {
			continue
		}
		s.mu.Lock()
		s.head = head
		s.pinned -= pinned
		s.mu.Unlock()
	}
}

// comes takes in a local root that started.
func (l *Log) comes(e *event) {
	if old := l.queue.fresh.take(e.key); old != nil {
		l.runs(old)
	}
	l.queue.fresh.add(e)
}

// recordOf returns the record of a span that has one or is about to.
func (l *Log) recordOf(key ident.Key) (rowID, bool) {
	if e := l.queue.fresh.take(key); e != nil {
		return l.runs(e), true
	}
	return l.indexed(key)
}

// runs makes a record of a local root that has not ended.
func (l *Log) runs(e *event) rowID {
	if l.lists[runningList].len >= l.maxRunning {
		// There are many, or the program loses spans without ending them.
		l.free(l.lists[runningList].first)
	}
	id := l.newRow()
	r := l.row(id)
	r.TraceID, r.ParentID, r.Start, r.LocalRoot = e.trace, e.parent, e.start, true
	binary.BigEndian.PutUint64(r.SpanID[:], uint64(e.key))
	r.Missed = e.start < l.joinedUntil
	r.Name = l.retainName(l.serviceOf(e.resource), ident.Cut(e.name))
	if l.lists[runningList].len == 0 {
		l.changed = true // for answers that were kept because nothing ran
	}
	l.push(id, runningList)
	l.setIndex(e.key, id)
	l.trim()
	return id
}

// ends takes in a span that ended.
func (l *Log) ends(e *event) {
	service := l.serviceOf(e.resource)
	name, description := ident.Cut(e.name), ""
	if e.status != "" {
		description = strings.Clone(ident.Cut(attributes.RedactText(e.status)))
	}
	running := l.queue.fresh.take(e.key) != nil
	var (
		id    rowID
		known bool
	)
	if !running {
		if id, known = l.indexed(e.key); known && l.row(id).Running() {
			running = true
			l.save(id)
			l.unlink(id)
		} else {
			id = 0
		}
	}
	isNew := id == 0
	if isNew {
		id = l.newRow()
		l.row(id).Missed = e.start < l.joinedUntil
	}
	r := l.row(id)
	r.TraceID, r.ParentID = e.trace, e.parent
	binary.BigEndian.PutUint64(r.SpanID[:], uint64(e.key))
	r.Start, r.Duration = e.start, e.duration
	r.Status, r.Err, r.LocalRoot = description, e.failed, e.local
	if isNew {
		l.setIndex(e.key, id)
	}
	if description != "" {
		l.bytes += memory.Alloc(int64(len(description)))
	}
	l.rename(r, service, name)
	l.adopt(r, e.key)
	l.describe(r, e)
	if !e.local {
		l.inner++
		l.nested = true
	}
	if r.Start < l.orphans.lostAt && (l.nested || !running) {
		// A local root that had a record has its own samples.
		r.Lost = LostSamples
	}

	l.changed = true
	l.ended++
	c, duration := l.count(r.Name), time.Duration(e.duration)
	c.Spans++
	c.Duration += duration
	c.MaxDuration = max(c.MaxDuration, duration)
	if r.Err {
		c.Errors++
	}
	switch {
	case !l.keeps(r):
		l.passed++
		l.push(id, passedList)
		if list := &l.lists[passedList]; list.len > l.maxPassed {
			l.free(list.first)
		}
	case r.Err:
		l.push(id, errorList)
	default:
		l.push(id, newestList)
	}
	l.saw(r.Name, r.Start+r.Duration)
	l.offer(id)
	l.trim()
	if e.origin != uncounted && l.root != nil {
		l.root(e.scope, e.origin == labelled)
	}
}
