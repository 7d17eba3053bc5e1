// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanlog keeps records of the spans that run and of those that ended,
// bounded in bytes, and joins them with the samples of profiles.
//
// On their way in, spans are asked by startend.go, where they start and end on the request
// path. Package sdkspan reads those of the SDK. What they say waits as the events of event.go,
// in the bounded rings of queue.go. drain.go takes events into the log, in their order, before
// anything reads it; fresh.go has the starts whose spans may end in the same batch.
//
// log.go is the log, record.go a record of it, config.go its bounds, totals.go its counts.
// index.go and lookup.go find records by id, running.go tells which spans run. table.go and
// text.go have the texts that records share, name.go the names of spans, count.go and counts.go
// what is counted by name.
//
// list.go makes room. Some records stay for longer: keeper.go has the slowest of each name,
// those with most CPU time and examples of each latency, ownkeeper.go says which names have a
// keeper of their own, errors.go has the last errors of each type.
//
// join.go adds samples to records, leave.go takes them off. orphans.go has the samples of spans
// without a record, departed.go spans whose record went before its samples came, ring.go what
// both leave behind. attributes.go gives records the attributes of their spans, below.go those
// of children without a record, exact.go exact times.
//
// view.go reads all this as it was at one moment. ended.go gives the spans that ended to a
// directory, restore.go takes in those of earlier processes.
package spanlog

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
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
// Start and End run on the application's request path, and do not wait for the lock of the
// log unless a ring is full: a second goroutine empties those that are half full. Readers
// hold the lock for as long as some records take to copy, and for the counts of all names
// once for each window and each view.
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

	// queue has what did not come into the log yet; lock takes it in.
	queue queue
	// root is told of local roots that ended.
	root func(scope string, labelled bool)

	mu sync.Mutex
	// changed says that the batch that comes in changes what a view sees.
	changed bool
	chunks  []*[chunkLen]Row
	// unused is the first record that is free; they are linked by next.
	unused rowID
	lookup lookup
	lists  [listCount]list
	// names are found by their hash.
	seed   maphash.Seed
	names  nameMap
	lately lately
	texts  map[string]*Text
	// Rows refer to names, to labels and attributes, and to the descriptions of statuses by
	// their places here.
	nameRefs table[*Name]
	textRefs table[*Text]
	statuses table[string]
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
	exacts     exacts
	// nested says that spans other than local roots were recorded.
	nested  bool
	history history
	// keys are the attributes that are kept, nil for none; below has those of
	// children without a record, on their way up.
	keys  *attributes.Keys
	below below
	// seenSets are those of attributes that came.
	seenSets seenSets
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

func (l *Log) row(id rowID) *Row {
	i := uint32(id) - 1
	return &l.chunks[i/chunkLen][i%chunkLen]
}

// keeps says whether the options keep an ended span.
func (l *Log) keeps(r *Row) bool {
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
func (l *Log) rename(r *Row, service, value string) {
	old := l.nameOf(r)
	if old != nil && old.Value == value && old.Service == service {
		return
	}
	r.name = l.retainName(service, value).ref
	if old != nil {
		l.releaseName(old)
	}
}

// LastService returns service.name of the span that came last, if any has.
func (l *Log) LastService() (string, bool) {
	l.lock()
	defer l.mu.Unlock()
	return l.service, l.resource != nil
}

// len returns the number of records, free ones included.
func (l *Log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.chunks) * chunkLen
}

// Generation returns a number that changes with every change that a view sees. Of spans
// that run it tells only when there is one after there was none.
func (l *Log) Generation() uint64 {
	if l.queue.seq.Load() != l.queue.known.Load() {
		l.Settle()
	}
	return l.generation.Load()
}

// Changed says that what the log does not know has changed: windows.
func (l *Log) Changed() { l.generation.Add(1) }
