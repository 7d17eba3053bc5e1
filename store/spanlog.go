// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

const (
	// chunkLen is how many records are allocated at once.
	chunkLen = 128
	// copyLen is how many records a query copies while the log is locked,
	// which divides chunkLen. To copy 32 takes about as long as a span does.
	copyLen = 32
	// maxTextLen bounds what one span can take.
	maxTextLen = 1024
	// maxNames is how many names are counted between two windows.
	maxNames = 1000
	// maxOwnKeepers is how many names have extremes of their own.
	maxOwnKeepers = 256
)

// spanLog holds the spans that run and those that ended. It has a lock of its
// own, as it is written on the application's request path: nothing holds it for
// longer than some spans take to end, but for what copies the counts of all names
// once for each window.
type spanLog struct {
	maxBytes int64
	// Numbers of records.
	maxRows, maxRunning, maxErrors, maxPassed int
	maxKeepers                                int
	// What the options say.
	minDuration time.Duration
	sampled     uint64
	perName     int

	// generation goes up with every change that a query can see, but for what
	// runs. It does so when the change is visible, or under the lock that
	// hides it: who has seen the number sees the change.
	generation atomic.Uint64

	mu     sync.Mutex
	chunks []*[chunkLen]spanRecord
	// unused is the first record that is free; they are linked by next.
	unused rowID
	index  map[spanKey]rowID
	lists  [listCount]spanList
	// names are found by their hash.
	seed  maphash.Seed
	names nameMap
	texts map[string]*spanText
	// counted are the names with something to count, countedBytes what they
	// take, which is little more than an eighth at most.
	counted      []*spanName
	countedBytes int64
	keepers      int
	others       spanKeeper
	orphans      orphans
	history      history
	// resource is that of the last span, service its service.name.
	resource *resource.Resource
	service  string
	// joinedUntil is when the latest CPU window ended that came, in nanoseconds
	// since 1970.
	joinedUntil int64

	bytes                               int64
	ended, passed, evicted, withSamples int64
}

func newSpanLog(c config) *spanLog {
	// Orphans take a sixteenth.
	maxBytes := c.maxBytes / 4 * 15 / 16
	// Names and status texts need what the rows leave.
	rows := chunkLen
	for rows < math.MaxInt32-chunkLen && rowsSize(rows+chunkLen) <= maxBytes*3/4 {
		rows += chunkLen
	}
	l := &spanLog{
		maxBytes:    maxBytes,
		maxRows:     rows,
		maxRunning:  rows / 8,
		maxErrors:   rows / 8,
		maxPassed:   rows / 4,
		orphans:     newOrphans(c.maxBytes / 4 / 16),
		minDuration: c.minDuration,
		sampled:     math.MaxUint64,
		perName:     c.spansPerName,
		index:       make(map[spanKey]rowID),
		seed:        maphash.MakeSeed(),
		names:       make(nameMap),
		texts:       make(map[string]*spanText),
	}
	if c.fraction < 1 {
		l.sampled = uint64(c.fraction * (1 << 63))
	}
	if l.perName > 0 {
		// Extremes take at most a quarter of the rows, the last share of
		// which is for the names without a keeper of their own.
		l.maxKeepers = min(maxOwnKeepers, max(0, rows/4/(2*l.perName)-1))
	}
	return l
}

// indexSlot is the size of key and value in the index, with padding.
const indexSlot = int64(unsafe.Sizeof(struct {
	spanKey
	rowID
}{}))

// rowsSize is the memory of n records, which are whole chunks, and of their index.
func rowsSize(n int) int64 {
	return int64(n/chunkLen)*allocSize(int64(unsafe.Sizeof([chunkLen]spanRecord{}))) + churnedMapSize(n, indexSlot)
}

func (l *spanLog) row(id rowID) *spanRecord {
	i := uint32(id) - 1
	return &l.chunks[i/chunkLen][i%chunkLen]
}

func (l *spanLog) start(s sdktrace.ReadWriteSpan) {
	ctx, parent, name, start, res := s.SpanContext(), s.Parent().SpanID(), cut(s.Name()), s.StartTime().UnixNano(), s.Resource()

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists[runningList].len >= l.maxRunning {
		// The program loses spans without ending them.
		l.free(l.lists[runningList].first)
	}
	id := l.newRow()
	r := l.row(id)
	r.traceID, r.spanID, r.parentID, r.start, r.localRoot = ctx.TraceID(), ctx.SpanID(), parent, start, true
	r.missed = start < l.joinedUntil
	r.name = l.retainName(l.serviceOf(res), name)
	l.push(id, runningList)
	l.index[newSpanKey(r.spanID)] = id
	l.trim()
}

func (l *spanLog) end(s sdktrace.ReadOnlySpan, localRoot bool) {
	ctx, parent, status, res := s.SpanContext(), s.Parent().SpanID(), s.Status(), s.Resource()
	start, duration := s.StartTime(), max(0, s.EndTime().Sub(s.StartTime()))
	name, description := cut(s.Name()), strings.Clone(cut(status.Description))
	key := newSpanKey(ctx.SpanID())

	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok := l.index[key]
	if ok && l.row(id).running() {
		l.save(id)
		l.unlink(id)
	} else {
		id = l.newRow()
		l.index[key] = id
		l.row(id).missed = start.UnixNano() < l.joinedUntil
	}
	r := l.row(id)
	r.traceID, r.spanID, r.parentID = ctx.TraceID(), ctx.SpanID(), parent
	r.start, r.duration = start.UnixNano(), int64(duration)
	r.status, r.err, r.localRoot = description, status.Code == codes.Error, localRoot
	l.bytes += allocSize(int64(len(description)))
	l.rename(r, l.serviceOf(res), name)
	l.adopt(r, key)

	l.ended++
	c := l.count(r.name)
	c.spans++
	c.duration += duration
	c.maxDuration = max(c.maxDuration, duration)
	if r.err {
		c.errors++
	}
	switch {
	case !l.keeps(r):
		l.passed++
		l.push(id, passedList)
		if list := &l.lists[passedList]; list.len > l.maxPassed {
			l.free(list.first)
		}
	case r.err:
		l.push(id, errorList)
	default:
		l.push(id, newestList)
	}
	l.offer(id)
	l.trim()
	l.generation.Add(1)
}

// keeps says whether the options keep an ended span.
func (l *spanLog) keeps(r *spanRecord) bool {
	// The last bytes of an id are random, by W3C Trace Context level 2. What
	// the SDK's TraceIDRatioBased samples has the first of them in common,
	// which therefore decide least here.
	return r.duration >= int64(l.minDuration) && binary.LittleEndian.Uint64(r.traceID[8:])>>1 < l.sampled
}

// serviceOf returns service.name, which neighbouring spans have in common.
func (l *spanLog) serviceOf(res *resource.Resource) string {
	if res != l.resource {
		l.resource, l.service = res, serviceName(res)
	}
	return l.service
}

// rename gives a record its final name. What was counted under the one that it
// had when it started stays there, in windows that may have gone since: CPU time
// counts by the name that the span had when it was used.
func (l *spanLog) rename(r *spanRecord, service, value string) {
	old := r.name
	if old != nil && old.value == value && old.service == service {
		return
	}
	r.name = l.retainName(service, value)
	if old != nil {
		l.releaseName(old)
	}
}

// lastService returns service.name of the span that came last, if any has.
func (l *spanLog) lastService() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.service, l.resource != nil
}

// each shows copies of all records of a view that are kept and wanted. The last
// come first, as these are the newest until records are used again. wanted runs
// while the log is locked.
func (l *spanLog) each(e *snapshot, wanted func(*spanRecord) bool, visit func(*spanRecord)) {
	var rows [copyLen]spanRecord
	for first := l.len() - copyLen; first >= 0; first -= copyLen {
		n := l.copyRows(e, &rows, first, wanted)
		for i := range n {
			visit(&rows[i])
		}
	}
}

// len returns the number of records, free ones included.
func (l *spanLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.chunks) * chunkLen
}

// copyRows copies what is wanted of copyLen records, the last first, and returns
// how many these are.
func (l *spanLog) copyRows(e *snapshot, rows *[copyLen]spanRecord, first int, wanted func(*spanRecord) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := copyLen; i > 0; i-- {
		r := l.rowAt(e, rowID(first+i))
		if r.list != freeList && r.list != passedList && wanted(r) {
			rows[n] = *r
			n++
		}
	}
	return n
}

// known says of which of the ids a view has a record.
func (l *spanLog) known(e *snapshot, keys []spanKey) map[spanKey]bool {
	known := make(map[spanKey]bool)
	if len(keys) == 0 {
		return known
	}
	for some := range slices.Chunk(keys, chunkLen) {
		l.mu.Lock()
		for _, key := range some {
			if l.indexed(e, key) != nil {
				known[key] = true
			}
		}
		l.mu.Unlock()
	}
	l.eachSaved(e, func(r *spanRecord) {
		if r.list != freeList {
			known[newSpanKey(r.spanID)] = true
		}
	})
	return known
}

// find returns a copy of the record of a span as a view has it.
func (l *spanLog) find(e *snapshot, key spanKey) (found spanRecord, ok bool) {
	l.mu.Lock()
	if r := l.indexed(e, key); r != nil {
		found, ok = *r, true
	}
	l.mu.Unlock()
	if ok {
		return found, true
	}
	// Its record may have become another's since.
	l.eachSaved(e, func(r *spanRecord) {
		if r.list != freeList && newSpanKey(r.spanID) == key {
			found, ok = *r, true
		}
	})
	return found, ok
}

// indexed returns the record that a span has now, as a view has it; nil if it had
// none or another one then. The caller holds the lock.
func (l *spanLog) indexed(e *snapshot, key spanKey) *spanRecord {
	id, ok := l.index[key]
	if !ok {
		return nil
	}
	r := l.rowAt(e, id)
	if r.list == freeList || newSpanKey(r.spanID) != key {
		return nil
	}
	return r
}

// addTo adds what the log knows to the statistics of the store. The caller holds
// the lock.
func (l *spanLog) addTo(s *Stats) {
	s.Bytes += l.bytes + l.orphans.bytes
	s.SpansEnded = l.ended
	s.SpansNotKept = l.passed
	s.SpansEvicted = l.evicted
	s.SpansWithSamples = l.withSamples
	s.Spans = int(l.ended - l.passed - l.evicted)
	s.SpansRunning = l.lists[runningList].len
}

// serviceVersion returns service.version of a resource, cut, "" where there is
// none.
func serviceVersion(r *resource.Resource) string {
	v, _ := r.Set().Value(semconv.ServiceVersionKey)
	return cut(v.AsString())
}

// serviceName returns service.name of a resource, cut, "" where there is none.
func serviceName(r *resource.Resource) string {
	v, _ := r.Set().Value(semconv.ServiceNameKey)
	return cut(v.AsString())
}
