// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/sdkspan"
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

// event is the start or the end of a span on its way from the request path to the log. But
// for snapshots of the SDK it has values alone: a span's methods may wait for locks of the
// program's, or be the program's own, and are called where the log is not locked.
//
// The end of a span that the SDK has taken a snapshot of writes to the first 64 bytes, a
// start to the others too: what one processor writes another one has to fetch.
type event struct {
	// seq is the place of the event among all.
	seq uint64
	key ident.Key
	// snapshot is that of the SDK, which says the rest when the event comes into the log;
	// zero where the event has values.
	snapshot sdkspan.Ref

	kind            eventKind
	local, profiled bool
	// hasAttributes says that there may be attributes to keep.
	hasAttributes bool
	// pinned is about what the event refers to, in bytes.
	pinned int32
	// name is that at this moment.
	name string

	start    int64
	trace    trace.TraceID
	parent   trace.SpanID
	resource *resource.Resource
	// details are of the end of a span without a snapshot.
	details *details
	_       [2*cacheLine - 6*8 - 4*8 - 2*8]byte
}

// details is what ends have beside what starts have.
type details struct {
	// status is the description of the status, that of an error where the span has no
	// record.
	status, scope string
	duration      int64
	// attributes are all of the span. set has what is kept of them and the exception where
	// they take too much to wait here.
	attributes []attribute.KeyValue
	exception  attributes.Exception
	set        []byte
	failed     bool
	origin     origin
}

func (l *Log) start(ctx, parent *trace.SpanContext, name string, start time.Time, of *resource.Resource) {
	shard, e := l.reserve()
	e.kind, e.key, e.trace, e.parent = started, ident.NewKey(ctx.SpanID()), ctx.TraceID(), parent.SpanID()
	e.name, e.start, e.resource = name, ident.UnixNano(start), of
	l.publish(shard, e, int64(len(name)))
}

// has gives an event the attributes of its span, which take about size bytes, and returns
// what it takes with them.
func (l *Log) has(e *event, d *details, all []attribute.KeyValue, size int64, exception attributes.Exception) int64 {
	e.hasAttributes = true
	_, more := look(exception.Attributes)
	if size += more; size <= l.queue.maxPinned/pinnedShare {
		d.attributes, d.exception = all, exception
		return size
	}
	set := l.collect(&attributes.Source{Name: e.name, Status: d.status, Attributes: all, Exception: exception}, e.kind == passedBy)
	defer set.free()
	if set == nil {
		e.hasAttributes = false
		return 0
	}
	d.set = slices.Clone(set.bytes)
	return int64(len(d.set))
}

func originOf(profiled bool) origin {
	if profiled {
		return labelled
	}
	return unlabelled
}

// passes reports whether a child has some attributes for its parent, and whether it, or
// its own children, may have.
func (l *Log) passes(size int64, exception attributes.Exception, status codes.Code) (some, passes bool) {
	some = size > 0 || exception.Any() || status == codes.Error
	hoists := l.queue.hoists.Load()
	if some && !hoists {
		// From now on those without any may have some from their own children.
		l.queue.hoists.Store(true)
	}
	return some, some || hoists
}

func (l *Log) passOn(id, parent trace.SpanID, some bool, name string, status sdktrace.Status, all []attribute.KeyValue, size int64, exception attributes.Exception) {
	e := event{kind: passedBy, key: ident.NewKey(id), parent: parent}
	var (
		d      details
		pinned int64
	)
	if some {
		e.name = name
		if status.Code == codes.Error {
			d.status = status.Description
		}
		pinned = l.has(&e, &d, all, size, exception)
	}
	l.enqueue(&e, &d, pinned+int64(len(e.name)+len(d.status)))
}
