// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanlog keeps records of the spans that run and of those that ended,
// bounded in bytes, and joins them with the samples of profiles.
//
// log.go records the start and the end of spans, on the request path; config.go has its
// bounds, totals.go its counts. list.go makes
// room; keeper.go keeps the slowest spans of each name, those with most CPU time and
// examples of each latency for longer, errors.go the last errors of each type; name.go
// has the texts that records share. join.go adds samples to records and takes them off;
// orphans.go has those of spans without a record, departed.go spans whose record went
// before its samples came, ring.go what both leave behind. attributes.go gives records
// the attributes of their spans, and of children without a record.
// count.go counts by name what is not kept. ended.go gives the spans that ended to a
// directory, restore.go takes those of earlier processes in. view.go reads all this as it was at one
// moment.
package spanlog

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// chunkLen is how many records are allocated at once.
	chunkLen = 128
	// copyLen is how many records a query copies while the log is locked,
	// which divides chunkLen. To copy 32 takes about as long as a span does.
	copyLen = 32
	// maxOwnKeepers is how many names have extremes of their own.
	maxOwnKeepers = 256
)

// Log holds the spans that run and those that ended. It is safe for concurrent use.
//
// Start and End run on the application's request path. Nothing holds the lock for
// longer than some spans take to end, except to copy the counts of all names, once
// for each window and each view.
type Log struct {
	maxBytes int64
	// Numbers of records.
	maxRows, maxRunning, maxErrors, maxPassed int
	maxKeepers, maxErrorTypes                 int
	// What the options say.
	minDuration time.Duration
	sampled     uint64
	perName     int

	// generation goes up with every change that a query can see, but for what
	// runs. It does so when the change is visible, or under the lock that
	// hides it: a view that is opened after the number was read sees the
	// change.
	generation atomic.Uint64

	mu     sync.Mutex
	chunks []*[chunkLen]Record
	// unused is the first record that is free; they are linked by next.
	unused rowID
	index  map[ident.Key]rowID
	lists  [listCount]list
	// names are found by their hash.
	seed  maphash.Seed
	names nameMap
	texts map[string]*Text
	// counted are the names with something to count, countedBytes what they
	// take, which is little more than an eighth at most.
	counted      []*Name
	countedBytes int64
	keepers      int
	others       keeper
	// owners are the names with a keeper of their own.
	owners []*Name
	// errorTypes are in the order of their last errors.
	errorTypes []errorType
	orphans    orphans
	departed   remains[departed]
	// nested says that spans other than local roots were recorded.
	nested  bool
	history history
	// keys are the attributes that are kept, nil for none; below has those of
	// children without a record, on their way up.
	keys  *attributes.Keys
	below below
	// seenSets are parts of the hashes of sets of attributes that came.
	seenSets [seenLen]uint32
	// resource is that of the last span, service its service.name.
	resource *resource.Resource
	service  string
	// joinedUntil is when the latest CPU window ended that came, in nanoseconds
	// since 1970.
	joinedUntil int64

	bytes                               int64
	ended, passed, evicted, withSamples int64
	// lostAttributes counts children whose attributes reached no record.
	lostAttributes int64
	// inner is the number of records of spans that are no local roots, restored of
	// those of earlier processes.
	inner, restored int
	// forgotten counts local roots that ran for as long as there was room, and
	// evictedEarly records that made room before their samples came.
	forgotten, evictedEarly int64
}

func (l *Log) row(id rowID) *Record {
	i := uint32(id) - 1
	return &l.chunks[i/chunkLen][i%chunkLen]
}

// Start records a local root that starts.
func (l *Log) Start(s sdktrace.ReadWriteSpan) {
	ctx, parent, name, start, res := s.SpanContext(), s.Parent().SpanID(), ident.Cut(s.Name()), ident.UnixNano(s.StartTime()), s.Resource()

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists[runningList].len >= l.maxRunning {
		// There are many, or the program loses spans without ending them.
		l.free(l.lists[runningList].first)
	}
	id := l.newRow()
	r := l.row(id)
	r.TraceID, r.SpanID, r.ParentID, r.Start, r.LocalRoot = ctx.TraceID(), ctx.SpanID(), parent, start, true
	r.Missed = start < l.joinedUntil
	r.Name = l.retainName(l.serviceOf(res), name)
	l.push(id, runningList)
	l.index[ident.NewKey(r.SpanID)] = id
	l.trim()
}

// End records a span that ends.
func (l *Log) End(s sdktrace.ReadOnlySpan, localRoot bool) {
	ctx, parent, status, res := s.SpanContext(), s.Parent().SpanID(), s.Status(), s.Resource()
	start := ident.UnixNano(s.StartTime())
	duration := max(0, s.EndTime().Sub(s.StartTime()))
	if start > 0 {
		// The end, too, is a time that nanoseconds can tell.
		duration = min(duration, time.Duration(math.MaxInt64-start))
	}
	name, description := ident.Cut(s.Name()), strings.Clone(ident.Cut(attributes.RedactText(status.Description)))
	key := ident.NewKey(ctx.SpanID())
	set := l.collect(s, false)

	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok := l.index[key]
	running := ok && l.row(id).Running()
	if running {
		l.save(id)
		l.unlink(id)
	} else {
		id = l.newRow()
		l.index[key] = id
		l.row(id).Missed = start < l.joinedUntil
	}
	r := l.row(id)
	r.TraceID, r.SpanID, r.ParentID = ctx.TraceID(), ctx.SpanID(), parent
	r.Start, r.Duration = start, int64(duration)
	r.Status, r.Err, r.LocalRoot = description, status.Code == codes.Error, localRoot
	l.bytes += memory.Alloc(int64(len(description)))
	l.rename(r, l.serviceOf(res), name)
	l.adopt(r, key)
	if set != nil || len(l.below.byKey) > 0 {
		l.describe(r, key, set)
		set.free()
	}
	if !localRoot {
		l.inner++
		l.nested = true
	}
	if r.Start < l.orphans.lostAt && (l.nested || !running) {
		// A local root that had a record has its own samples.
		r.Lost = LostSamples
	}

	l.ended++
	c := l.count(r.Name)
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
	l.generation.Add(1)
}

// keeps says whether the options keep an ended span.
func (l *Log) keeps(r *Record) bool {
	// The last bytes of an id are random, by W3C Trace Context level 2. What
	// the SDK's TraceIDRatioBased samples has the first of them in common,
	// which therefore decide least here.
	return r.Duration >= int64(l.minDuration) && binary.LittleEndian.Uint64(r.TraceID[8:])>>1 < l.sampled
}

// serviceOf returns service.name, which neighbouring spans have in common.
func (l *Log) serviceOf(res *resource.Resource) string {
	if res != l.resource {
		l.resource, l.service = res, ident.Service(res)
	}
	return l.service
}

// rename gives a record its final name. What was counted under the one that it
// had when it started stays there, in windows that may have gone since: CPU time
// counts by the name that the span had when it was used.
func (l *Log) rename(r *Record, service, value string) {
	old := r.Name
	if old != nil && old.Value == value && old.Service == service {
		return
	}
	r.Name = l.retainName(service, value)
	if old != nil {
		l.releaseName(old)
	}
}

// LastService returns service.name of the span that came last, if any has.
func (l *Log) LastService() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.service, l.resource != nil
}

// len returns the number of records, free ones included.
func (l *Log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.chunks) * chunkLen
}

// Generation returns a number that changes with every change that a view sees,
// except for spans that run.
func (l *Log) Generation() uint64 { return l.generation.Load() }

// Changed says that what the log does not know has changed: windows.
func (l *Log) Changed() { l.generation.Add(1) }
