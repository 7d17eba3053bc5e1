// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"encoding/binary"
	"math"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// shards is the number of slices that spans are appended to, shardLen the length of
	// each. Spans that find all of them full are dropped and counted.
	shards   = 8
	shardLen = 4096
	// wakeLen is the length of a slice at which the worker starts. Few spans at a time are
	// still in the processor's cache.
	wakeLen = 128
)

// profileIDKey is the attribute of spans with a profile of their own.
const profileIDKey = attribute.Key("pyroscope.profile.id")

// Intake is a span processor that delivers ended spans to a room. OnEnd only appends the
// SDK's snapshot to a slice. A worker, or the next Drain, does the rest.
type Intake struct {
	room *Room
	// all reports whether every span has a profile of its own.
	all func(sampled bool) bool
	// Roots, if not nil, gets each local root, and whether it has a profile id.
	Roots func(s sdktrace.ReadOnlySpan, labelled bool)

	shards [shards]shard
	// own has the shard that each processor used last: processors that append to the same
	// slice wait for each other's cache lines. next counts the shards that it gave out.
	own     sync.Pool
	next    atomic.Uint32
	dropped atomic.Int64
	// last is the resource of the span that ended last.
	last    atomic.Pointer[resource.Resource]
	working atomic.Bool
	// draining is held while spans are delivered. spare is an empty slice, and batch some
	// spans of a shard.
	draining sync.Mutex
	spare    []sdktrace.ReadOnlySpan
	batch    []Ended
	set      []byte // of attributes, used again
}

type shard struct {
	mu    sync.Mutex
	ended []sdktrace.ReadOnlySpan
	_     [96]byte // another processor's cache lines
}

// add appends a span unless the shard is full. It returns the length before.
func (s *shard) add(of sdktrace.ReadOnlySpan) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.ended)
	if n < shardLen {
		s.ended = append(s.ended, of)
	}
	return n
}

// NewIntake returns a processor. fraction is the part of the traces with spans that are
// listed; the others only count by name.
func NewIntake(room *Room, fraction float64, all func(sampled bool) bool) *Intake {
	i := &Intake{room: room, all: all}
	i.own.New = func() any { return &i.shards[i.next.Add(1)%shards] }
	switch {
	case 1-fraction >= 1: // also of a fraction that is too small for a float
		room.least = math.MaxUint64
	case fraction < 1:
		room.least = uint64((1 - fraction) * (1 << 63) * 2)
	}
	return i
}

// OnStart does nothing.
func (i *Intake) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd appends the span. It takes no lock that a reader of the room holds.
func (i *Intake) OnEnd(s sdktrace.ReadOnlySpan) {
	own := i.own.Get().(*shard)
	n := own.add(s)
	for k := 0; k < shards && n == shardLen; k++ {
		n = i.shards[k].add(s)
	}
	i.own.Put(own)
	if n == shardLen {
		i.dropped.Add(1)
	}
	if n >= wakeLen && !i.working.Load() && i.working.CompareAndSwap(false, true) {
		go i.work()
	}
}

// Shutdown does nothing.
func (i *Intake) Shutdown(context.Context) error { return nil }

// ForceFlush delivers the spans that have ended.
func (i *Intake) ForceFlush(context.Context) error {
	i.Drain()
	return nil
}

// Resource returns the resource of the span that ended last, nil before the first.
func (i *Intake) Resource() *resource.Resource { return i.last.Load() }

// Dropped returns how many spans found no place.
func (i *Intake) Dropped() int64 { return i.dropped.Load() }

// work delivers spans until few are left.
func (i *Intake) work() {
	pprof.SetGoroutineLabels(context.Background()) // it inherited the labels of a span
	for i.Drain() >= wakeLen {
	}
	i.working.Store(false)
}

// Drain delivers the spans that have ended before the call, and returns how many.
func (i *Intake) Drain() (n int) {
	i.draining.Lock()
	defer i.draining.Unlock()
	for k := range i.shards {
		s := &i.shards[k]
		s.mu.Lock()
		ended := s.ended
		if len(ended) > 0 {
			s.ended, i.spare = i.spare[:0], nil
		}
		s.mu.Unlock()
		if len(ended) == 0 {
			continue
		}
		if r := ended[len(ended)-1].Resource(); r != i.last.Load() {
			i.last.Store(r)
			i.room.SetService(ident.Service(r), ident.Version(r))
		}
		for part := range slices.Chunk(ended, wakeLen) { // the buffers stay, and so they are small
			i.deliver(part)
		}
		n += len(ended)
		clear(ended) // the snapshots are not needed any more
		i.spare = ended[:0]
	}
	return n
}

func (i *Intake) deliver(ended []sdktrace.ReadOnlySpan) {
	i.batch = i.batch[:0]
	for _, of := range ended {
		i.batch = append(i.batch, i.read(of))
	}
	i.room.End(i.batch...)
	clear(i.batch)
}

// read returns what a room keeps of a span.
func (i *Intake) read(s sdktrace.ReadOnlySpan) Ended {
	of, parent, start := s.SpanContext(), s.Parent(), s.StartTime()
	values := s.Attributes()
	labelled := false
	for k := range values {
		labelled = labelled || values[k].Key == profileIDKey
	}
	trace := of.TraceID()
	e := Ended{
		ID: ident.NewKey(of.SpanID()), Parent: ident.NewKey(parent.SpanID()), Trace: trace, Name: ident.Cut(s.Name()), Service: ident.Service(s.Resource()),
		Start: ident.UnixNano(start), Duration: int64(max(s.EndTime().Sub(start), 0)), LocalRoot: !parent.IsValid() || parent.IsRemote(), Err: s.Status().Code == codes.Error, Kind: s.SpanKind(),
	}
	e.Child = !e.LocalRoot && !labelled && !i.all(of.IsSampled())
	if e.LocalRoot && i.Roots != nil {
		i.Roots(s, labelled)
	}
	if e.Err {
		e.Status = ident.Cut(attributes.RedactText(s.Status().Description))
	}
	if !i.room.unlisted(trace) {
		status := ""
		if e.Child {
			status = e.Status
		}
		i.set = i.room.keys.Append(i.set[:0], values, status, s.Events())
		e.Attributes = string(i.set)
	}
	return e
}

// countUnseen counts samples of the segment before one that is sealed now. They are of spans
// that do not run and have no record. Their provider has no processor of this store. Ids in
// older segments are left out: a program may keep a copy of labels for long.
func (r *Room) countUnseen(sealed *Segment) {
	dropped := r.gone
	r.gone = make(map[ident.Key]bool)
	defer func() { r.goneBefore = dropped }()
	last := len(r.sealed) - 1
	if last < 0 || r.counts.SpansEnded == 0 || r.Running == nil {
		return
	}
	of, older, running := r.sealed[last], r.before()[:len(r.before())-1], r.Running()
	ends := of.endsOf(&of.index.order, append(slices.Clip(r.before()), sealed))
	for i := range of.index.order.Len() {
		g := of.index.order.At(i)
		id := of.groups.list[g]
		if ends[g] == 0 && !r.goneBefore[id.span] && !dropped[id.span] && !r.unlisted(id.trace) &&
			!running[id.span.String()] && !running[id.trace.String()] && !slices.ContainsFunc(older, func(s *Segment) bool { return s.index.isSpanID(s, id.span) }) {
			r.counts.Unseen += of.index.different[of.index.sums.At(i)].Samples
		}
	}
}

// unlisted reports whether spans of a trace only count by name.
func (r *Room) unlisted(id trace.TraceID) bool {
	return r.least != 0 && id.IsValid() && binary.BigEndian.Uint64(id[:8]) < r.least
}
