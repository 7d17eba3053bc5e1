// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// queue is what happened to spans and is not in the log yet. Spans of different
// processors write to different shards, of which each is bounded; who finds one full
// takes all into the log first. Nothing is ever dropped.
type queue struct {
	_ [cacheLine]byte
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
	// unseen counts attributes and events of spans that were not looked at.
	unseen atomic.Int64

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
	// details are those of the events at the same places; nil before the first.
	details []details
	_       [2*cacheLine - 8 - 2*8 - 8 - 2*24]byte
}

const (
	// maxRing and minRing bound the events of a shard, pinnedPerEvent is how many
	// bytes of spans they may refer to each on average.
	maxRing, minRing = 512, 16
	pinnedPerEvent   = 256
	// eventCost is what an event and what it refers to take.
	eventCost = int64(unsafe.Sizeof(event{})+unsafe.Sizeof(details{})) + pinnedPerEvent
	// pinnedValue is what an attribute takes without its text. A list, whose length only
	// a copy tells, may not wait.
	pinnedValue, pinnedSlice = 64, 1 << 20
	// pinnedSnapshot is what a snapshot takes, pinnedEvent an event or a link of a span
	// without its attributes.
	pinnedSnapshot, pinnedEvent = 512, 128
	// pinnedState is what a member of a tracestate takes: both texts have 256 bytes at most.
	pinnedState = 576
	// pinnedShare is the part of a shard's bytes that one event may take.
	pinnedShare = 8
	// maxBatch is how many events are taken in before their places are free, maxYields
	// how often a full shard looks for room before it waits for the lock: each time,
	// all goroutines that can run may go first.
	maxBatch, maxYields = 512, 2
)

// A snapshot of which something is not looked at takes too much to wait: it is counted
// before.
const _ = uint(attributes.MaxSeen*pinnedValue + pinnedSnapshot - maxRing*pinnedPerEvent/pinnedShare - 1)

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

// enqueue appends an event with its details. Sometimes it has others taken in.
func (l *Log) enqueue(e *event, d *details, pinned int64) {
	q := &l.queue
	s, to := l.reserve()
	if s.details == nil {
		s.details = make([]details, q.ringLen)
		q.bytes.Add(memory.Slice(s.details))
	}
	*to = *e
	to.details = &s.details[s.tail&(q.ringLen-1)]
	*to.details = *d
	l.publish(s, to, pinned)
}

// reserve returns the shard of the caller, locked, and an empty place for its next event.
// Sometimes it has others taken in.
func (l *Log) reserve() (*shard, *event) {
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
	return s, &s.ring[s.tail&(q.ringLen-1)]
}

// publish appends the event at the place that reserve returned, which refers to so many
// bytes.
func (l *Log) publish(s *shard, e *event, pinned int64) {
	q := &l.queue
	e.pinned = int32(min(pinned, math.MaxInt32))
	e.seq = q.seq.Add(1)
	s.tail++
	s.pinned += int64(e.pinned)
	due := s.tail-s.head >= q.ringLen/2 || s.pinned >= q.maxPinned/2
	s.mu.Unlock()
	if due && !q.draining.Load() && q.draining.CompareAndSwap(false, true) {
		go l.drainLater()
	}
}

// full reports whether a shard, which is locked, has no room.
func (q *queue) full(s *shard) bool {
	return s.tail-s.head >= q.ringLen || s.pinned >= q.maxPinned
}

// makeRoom takes events into the log until a shard has room, unless another goroutine
// does so.
func (l *Log) makeRoom(s *shard) {
	for range maxYields {
		if l.mu.TryLock() {
			l.drainAndUnlock(s)
			return
		}
		// Who holds the lock may be making room. To wait for it takes longer.
		runtime.Gosched()
		if !l.shardIsFull(s) {
			return
		}
	}
	l.mu.Lock()
	l.drainAndUnlock(s)
}

// drainAndUnlock is drainFor, after which others have the lock even if it panics: it runs
// where a span ends, and a server recovers from that.
func (l *Log) drainAndUnlock(s *shard) {
	defer l.mu.Unlock()
	l.drainFor(s)
}

// drainFor takes events in until a shard has room, or all that came until it was called:
// others may fill the shard meanwhile. The caller holds the lock.
func (l *Log) drainFor(s *shard) {
	q := &l.queue
	for until := q.seq.Load(); q.known.Load() < until && l.shardIsFull(s); {
		l.drainBatch(min(until, q.known.Load()+maxBatch))
	}
}

func (l *Log) shardIsFull(s *shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.queue.full(s)
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
func (l *Log) drainLater() {
	goruntime.ClearLabels()
	l.mu.Lock()
	// What comes from now on may need another one.
	l.queue.draining.Store(false)
	l.drain(l.queue.seq.Load())
	l.mu.Unlock()
}

// lock locks the log, with all events in it that came until now.
func (l *Log) lock() {
	l.mu.Lock()
	if until := l.queue.seq.Load(); until != l.queue.known.Load() {
		l.drain(until)
	}
}
