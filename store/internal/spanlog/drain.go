// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"encoding/binary"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/sdkspan"
)

// drain takes in the events up to a number. The caller holds the lock.
func (l *Log) drain(until uint64) {
	for known := l.queue.known.Load(); known < until; known = l.queue.known.Load() {
		l.drainBatch(min(until, known+maxBatch))
	}
}

// drainBatch takes in the events up to a number, and frees their places. The caller holds
// the lock.
func (l *Log) drainBatch(until uint64) {
	q := &l.queue
	q.sort(q.known.Load(), until)
	fetch(q.order)
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
	l.packTables()
	q.release(until)
	if l.changed {
		l.changed = false
		l.generation.Add(1)
	}
	q.known.Store(until)
}

// fetch reads the keys of the ends that come in. Each is in another place of memory: read
// here, one after the other and for nothing else, a processor fetches many at a time.
func fetch(events []*event) {
	for _, e := range events {
		if e.kind == ended && !e.snapshot.IsZero() {
			e.key = ident.NewKey(e.snapshot.Ended().SpanContext().SpanID())
		}
	}
}

// sort puts the events after one number and up to another in their order. The numbers
// have no gaps.
func (q *queue) sort(after, until uint64) {
	n := int(until - after)
	if n > cap(q.order) {
		q.order = make([]*event, n, max(n, min(maxBatch, len(q.shards)*int(q.ringLen))))
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
			e.clear()
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

// clear makes a place for the next event. Most events refer to little.
func (e *event) clear() {
	switch {
	case e.details != nil:
		*e.details = details{}
		*e = event{}
	case !e.snapshot.IsZero():
		e.snapshot = sdkspan.Ref{}
	default:
		e.name, e.resource = "", nil
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
	r.name = l.retainName(l.serviceOf(e.resource), ident.Cut(e.name)).ref
	if l.lists[runningList].len == 0 {
		l.changed = true // for answers that were kept because nothing ran
	}
	l.push(id, runningList)
	l.setIndex(&l.lookup.running, e.key, id)
	l.trim()
	return id
}

// read returns an end with all that it says, which is that of its snapshot in the places
// given.
func (l *Log) read(e, to *event, d *details) (*event, *details) {
	if e.snapshot.IsZero() {
		if e.details != nil {
			d = e.details
		}
		return e, d
	}
	s := e.snapshot.Ended()
	ctx := s.SpanContext()
	to.key, to.local = e.key, e.local
	to.trace, to.parent, to.resource = ctx.TraceID(), s.Parent().SpanID(), s.Resource()
	to.name, to.hasAttributes = s.Name(), false
	to.start, d.duration = times(*s.StartTime(), *s.EndTime())
	d.status, d.failed = s.Status().Description, s.Status().Code == codes.Error
	d.origin = uncounted
	if l.root != nil && e.local && ctx.IsSampled() && s.DroppedAttributes() == 0 {
		d.origin, d.scope = originOf(e.profiled), s.InstrumentationScope().Name
	}
	if l.keys != nil {
		d.attributes, d.exception = s.Attributes(), attributes.ExceptionOf(s.Events())
		to.hasAttributes = e.hasAttributes || d.exception.Any()
	}
	return to, d
}

// ends takes in a span that ended.
func (l *Log) ends(e *event) {
	// On the stack there are no write barriers.
	var (
		asked        event
		askedDetails details
	)
	e, d := l.read(e, &asked, &askedDetails)
	running := l.queue.fresh.take(e.key) != nil
	service := l.serviceOf(e.resource)
	name, description := ident.Cut(e.name), ""
	if d.status != "" {
		description = strings.Clone(ident.Cut(attributes.RedactText(d.status)))
	}
	var id rowID
	if !running {
		if id, running = l.indexedRunning(e.key); running {
			l.save(id)
			l.unindex(id)
			l.unlink(id)
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
	r.Start, r.Duration = e.start, d.duration
	r.Err, r.LocalRoot = d.failed, e.local
	l.indexLater(e.key, id)
	l.setStatus(r, description)
	l.rename(r, service, name)
	l.adopt(r, e.key)
	l.describe(r, e, d)
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
	named := l.nameOf(r)
	c, duration := l.count(named), time.Duration(d.duration)
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
	l.saw(named, r.Start+r.Duration)
	l.offer(id)
	l.trim()
	if d.origin != uncounted && l.root != nil {
		l.root(d.scope, d.origin == labelled)
	}
}
