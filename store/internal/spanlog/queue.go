// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"context"
	"math"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelfacts"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// eventKind says what happened to a span.
type eventKind uint8

const (
	// started: a local root. ended: a span that has a record. passedBy: a child that
	// has none, but perhaps attributes.
	started eventKind = iota
	ended
	passedBy
)

// origin says whether a span counts for its tracer, and whether it has labels.
type origin uint8

const (
	uncounted origin = iota
	unlabelled
	labelled
)

// event is the start or the end of a span on its way from the request path to the log.
type event struct {
	// seq is the place of the event among all.
	seq uint64
	key ident.Key
	// span is, of a start, the span that runs, of which only what never changes is
	// read later. Of an end it is nil if there is nothing more to read of it.
	span sdktrace.ReadOnlySpan
	// name is that at this moment.
	name string

	// What follows is of ends.
	status, scope   string
	resource        *resource.Resource
	trace           trace.TraceID
	parent          trace.SpanID
	start, duration int64

	kind          eventKind
	failed, local bool
	origin        origin
	// pinned is about what the event refers to, in bytes.
	pinned int32
}

// queue is what happened to spans and is not in the log yet. Spans of different
// processors write to different shards, of which each is bounded; who finds one full
// takes all into the log first. Nothing is ever dropped.
type queue struct {
	// seq numbers events. It is taken in the lock of a shard: who has read it, and
	// then takes that lock, finds all events up to the number.
	seq atomic.Uint64
	_   [cacheLine - 8]byte

	shards []shard
	// ringLen is how many events a shard has, a power of 2, and maxPinned how many
	// bytes of spans they refer to before others are taken in.
	ringLen   uint64
	maxPinned int64
	// draining says that a goroutine is about to take events in.
	draining atomic.Bool
	// known is the number of the last event in the log.
	known atomic.Uint64
	// bytes is the memory of the rings.
	bytes atomic.Int64
	// hoists says that children without a record have had attributes.
	hoists atomic.Bool

	// What follows belongs to who holds the lock of the log.

	// order is room for the events of a batch in their order, fresh for its starts.
	order []*event
	fresh fresh
}

const cacheLine = 64

// shard is a ring of events.
type shard struct {
	mu sync.Mutex
	// head is the first event that is not in the log, tail the first place that is
	// free. Both only grow.
	head, tail uint64
	// pinned is about what the events since head refer to, in bytes.
	pinned int64
	ring   []event
	_      [2*cacheLine - 8 - 2*8 - 8 - 24]byte
}

const (
	// maxRing and minRing bound the events of a shard, pinnedPerEvent is how many
	// bytes of spans they may refer to each on average.
	maxRing, minRing = 512, 16
	pinnedPerEvent   = 256
	// eventCost is what an event and what it refers to take.
	eventCost = int64(unsafe.Sizeof(event{})) + pinnedPerEvent
	// pinnedValue is what an attribute takes without its text, pinnedUnknown what a
	// list or an event may take, whose length is not known.
	pinnedValue, pinnedUnknown = 64, 16 << 10
)

// init makes an empty queue that takes about maxBytes at most.
func (q *queue) init(maxBytes int64) {
	shards := 1
	for shards < 2*runtime.GOMAXPROCS(0) && int64(shards)*2*minRing*4*eventCost <= maxBytes {
		shards *= 2
	}
	ring := minRing
	for ring < maxRing && int64(shards)*int64(ring)*2*eventCost <= maxBytes {
		ring *= 2
	}
	q.shards, q.ringLen, q.maxPinned = make([]shard, shards), uint64(ring), int64(ring)*pinnedPerEvent
}

// ringSize is the memory of a ring, with the room to put its events in order.
func (q *queue) ringSize() int64 {
	perEvent := unsafe.Sizeof(event{}) + unsafe.Sizeof(&event{}) + unsafe.Sizeof(freshStart{})
	return memory.Alloc(int64(q.ringLen) * int64(perEvent))
}

// enqueue appends an event. Sometimes it has others taken in.
func (l *Log) enqueue(e *event, pinned int64) {
	q := &l.queue
	s := q.shard()
	s.mu.Lock()
	for q.full(s) {
		s.mu.Unlock()
		l.makeRoom(s)
		s.mu.Lock()
	}
	if s.ring == nil {
		s.ring = make([]event, q.ringLen)
		q.bytes.Add(q.ringSize())
	}
	to := &s.ring[s.tail&(q.ringLen-1)]
	*to = *e
	to.seq = q.seq.Add(1)
	to.pinned = int32(min(pinned, math.MaxInt32))
	s.tail++
	s.pinned += int64(to.pinned)
	due := s.tail-s.head == q.ringLen/2 || s.pinned >= q.maxPinned/2
	s.mu.Unlock()
	if due && !q.draining.Load() && q.draining.CompareAndSwap(false, true) {
		go l.drainLater()
	}
}

// full reports whether a shard, which is locked, has no room.
func (q *queue) full(s *shard) bool {
	return s.tail-s.head >= q.ringLen || s.pinned >= q.maxPinned
}

// makeRoom takes all events into the log if a shard is full, unless another goroutine has
// done so.
func (l *Log) makeRoom(s *shard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.mu.Lock()
	full := l.queue.full(s)
	s.mu.Unlock()
	if full {
		l.drain(l.queue.seq.Load())
	}
}

// shard returns the shard for the caller's goroutine: the place of its stack tells
// goroutines apart.
func (q *queue) shard() *shard {
	var here byte
	hash := uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9e3779b97f4a7c15 //nolint:gosec // Only the number counts.
	return &q.shards[(hash>>32)&uint64(len(q.shards)-1)]
}

// Settle takes all events that came until now into the log.
func (l *Log) Settle() {
	l.lock()
	l.mu.Unlock()
}

// drainLater is Settle on a goroutine of its own, which begins with the labels of the one
// that made it.
//
//nolint:contextcheck,nolintlint // a context of the caller has labels, which are not to be had; only the first reads this itself
func (l *Log) drainLater() {
	pprof.SetGoroutineLabels(context.Background())
	l.queue.draining.Store(false)
	l.Settle()
}

// lock locks the log, with all events in it that came until now.
func (l *Log) lock() {
	l.mu.Lock()
	if until := l.queue.seq.Load(); until != l.queue.known.Load() {
		l.drain(until)
	}
}

// Start records a local root that starts.
func (l *Log) Start(s sdktrace.ReadWriteSpan) {
	name := s.Name()
	l.enqueue(&event{kind: started, key: ident.NewKey(s.SpanContext().SpanID()), span: s, name: name}, int64(len(name)))
}

// End records a span that ends: a local root, a span that has a profile of its own, or what
// another one has to tell about those above it. The span must not change any more.
//
// Each question to a span of the SDK copies all that it is, so none is put twice.
func (l *Log) End(s sdktrace.ReadOnlySpan) {
	parent, all := s.Parent(), s.Attributes()
	profiled, size := look(all)
	if !profiled && labelfacts.EverySpan(true) {
		profiled = labelfacts.EverySpan(s.SpanContext().IsSampled())
	}
	if local := !parent.IsValid() || parent.IsRemote(); local || profiled {
		l.end(s, parent.SpanID(), local, profiled, size)
	} else if l.keys != nil {
		l.pass(s, parent.SpanID(), size)
	}
}

// profileID is the attribute of spans that have a profile of their own.
const profileID = "pyroscope.profile.id"

// look goes through the attributes of a span. It says whether there is that of a profile,
// and about what the others take in bytes, 0 for none.
func look(all []attribute.KeyValue) (profiled bool, size int64) {
	for i := range all {
		if len(all[i].Key) == len(profileID) && all[i].Key == profileID {
			profiled = true
			continue
		}
		switch v := &all[i].Value; v.Type() {
		case attribute.STRING:
			size += pinnedValue + int64(len(v.AsString()))
		case attribute.BOOL, attribute.INT64, attribute.FLOAT64:
			size += pinnedValue
		default:
			size += pinnedUnknown
		}
	}
	return profiled, size
}

// end records the end of a span that has a record; size is what its attributes take.
func (l *Log) end(s sdktrace.ReadOnlySpan, parent trace.SpanID, local, profiled bool, size int64) {
	ctx, status := s.SpanContext(), s.Status()
	start, duration := times(s)
	e := event{
		kind: ended, key: ident.NewKey(ctx.SpanID()), name: s.Name(), status: status.Description, resource: s.Resource(),
		trace: ctx.TraceID(), parent: parent, start: start, duration: duration,
		failed: status.Code == codes.Error, local: local,
	}
	if local && ctx.IsSampled() && s.DroppedAttributes() == 0 {
		e.origin, e.scope = unlabelled, s.InstrumentationScope().Name
		if profiled {
			e.origin = labelled
		}
	}
	if l.keys != nil {
		if size += pinnedUnknown * int64(len(s.Events())); size > 0 {
			e.span = s
		}
	}
	l.enqueue(&e, size+int64(len(e.name)+len(e.status)))
}

// pass hands the attributes of a child that has no record of its own to its parent, for
// the nearest span above that has one.
func (l *Log) pass(s sdktrace.ReadOnlySpan, parent trace.SpanID, size int64) {
	e := event{kind: passedBy, parent: parent}
	hoists := l.queue.hoists.Load()
	if size > 0 || len(s.Events()) > 0 || s.Status().Code == codes.Error {
		size += pinnedUnknown * int64(len(s.Events()))
		e.span = s
		if !hoists {
			// From now on those without any may have some from their own children.
			l.queue.hoists.Store(true)
		}
	} else if !hoists {
		return
	}
	e.key = ident.NewKey(s.SpanContext().SpanID())
	l.enqueue(&e, size)
}

// times returns the start of a span that ended, in nanoseconds since 1970, and its
// duration.
func times(s sdktrace.ReadOnlySpan) (start, duration int64) {
	from := s.StartTime()
	start = ident.UnixNano(from)
	duration = max(0, int64(s.EndTime().Sub(from)))
	if start > 0 {
		// The end, too, is a time that nanoseconds can tell.
		duration = min(duration, int64(time.Duration(1<<63-1))-start)
	}
	return start, duration
}
