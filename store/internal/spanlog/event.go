// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelfacts"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
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

// event is the start or the end of a span on its way from the request path to the log. It
// has values alone: a span's methods may wait for locks of the program's, or be the
// program's own, and are called where the log is not locked.
type event struct {
	// seq is the place of the event among all.
	seq      uint64
	key      ident.Key
	trace    trace.TraceID
	parent   trace.SpanID
	resource *resource.Resource
	// name is that at this moment.
	name  string
	start int64

	// What follows is of ends. status is the description of the status, that of an error
	// where the span has no record.
	status, scope string
	duration      int64
	// attributes are all of the span, exception those of its first exception. set has
	// what is kept of them where they take too much to wait here.
	attributes, exception []attribute.KeyValue
	set                   []byte

	kind                         eventKind
	failed, local, hasAttributes bool
	origin                       origin
	// pinned is about what the event refers to, in bytes.
	pinned int32
}

// Start records a local root that starts.
func (l *Log) Start(s sdktrace.ReadWriteSpan) {
	ctx, name := s.SpanContext(), s.Name()
	l.enqueue(&event{
		kind: started, key: ident.NewKey(ctx.SpanID()), trace: ctx.TraceID(), parent: s.Parent().SpanID(),
		start: ident.UnixNano(s.StartTime()), resource: s.Resource(), name: name,
	}, int64(len(name)))
}

// End records a span that ends: a local root, a span that has a profile of its own, or what
// another one has to tell about those above it. The span's attributes must not change any
// more.
//
// Each question to a span of the SDK copies all that it is, so none is put twice.
func (l *Log) End(s sdktrace.ReadOnlySpan) {
	parent, all := s.Parent(), s.Attributes()
	profiled, size := look(all)
	if !profiled && labelfacts.EverySpan(true) {
		profiled = labelfacts.EverySpan(s.SpanContext().IsSampled())
	}
	if local := !parent.IsValid() || parent.IsRemote(); local || profiled {
		l.end(s, parent.SpanID(), local, profiled, all, size)
	} else if l.keys != nil {
		l.pass(s, parent.SpanID(), all, size)
	}
}

// has gives an event the attributes of its span, which take about size bytes, and returns
// what it takes with them.
func (l *Log) has(e *event, all []attribute.KeyValue, size int64, exception []attribute.KeyValue) int64 {
	e.hasAttributes = true
	_, more := look(exception)
	if size += more; size <= l.queue.maxPinned/pinnedShare {
		e.attributes, e.exception = all, exception
		return size
	}
	set := l.collect(&attributes.Source{Name: e.name, Status: e.status, Attributes: all, Exception: exception}, e.kind == passedBy)
	defer set.free()
	if set == nil {
		e.hasAttributes = false
		return 0
	}
	e.set = slices.Clone(set.bytes)
	return int64(len(e.set))
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
			size += pinnedSlice
		}
	}
	return profiled, size
}

// end records the end of a span that has a record; size is what its attributes take.
func (l *Log) end(s sdktrace.ReadOnlySpan, parent trace.SpanID, local, profiled bool, all []attribute.KeyValue, size int64) {
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
	var pinned int64
	if l.keys != nil {
		if exception := attributes.Exception(s.Events()); size > 0 || len(exception) > 0 {
			pinned = l.has(&e, all, size, exception)
		}
	}
	l.enqueue(&e, pinned+int64(len(e.name)+len(e.status)))
}

// pass hands the attributes of a child that has no record of its own to its parent, for
// the nearest span above that has one.
func (l *Log) pass(s sdktrace.ReadOnlySpan, parent trace.SpanID, all []attribute.KeyValue, size int64) {
	exception, status := attributes.Exception(s.Events()), s.Status()
	some := size > 0 || len(exception) > 0 || status.Code == codes.Error
	hoists := l.queue.hoists.Load()
	switch {
	case some && !hoists:
		// From now on those without any may have some from their own children.
		l.queue.hoists.Store(true)
	case !some && !hoists:
		return
	}
	e := event{kind: passedBy, key: ident.NewKey(s.SpanContext().SpanID()), parent: parent}
	var pinned int64
	if some {
		e.name = s.Name()
		if status.Code == codes.Error {
			e.status = status.Description
		}
		pinned = l.has(&e, all, size, exception)
	}
	l.enqueue(&e, pinned+int64(len(e.name)+len(e.status)))
}

// times returns the start of a span that ended, in nanoseconds since 1970, and its
// duration.
func times(s sdktrace.ReadOnlySpan) (start, duration int64) {
	from := s.StartTime()
	start = ident.UnixNano(from)
	duration = max(0, int64(s.EndTime().Sub(from)))
	if start > 0 {
		// The end, too, is a time that nanoseconds can tell.
		duration = min(duration, math.MaxInt64-start)
	}
	return start, duration
}
