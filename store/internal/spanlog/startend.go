// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/sdkspan"
)

// Start records a span that starts if it is a local root.
func (l *Log) Start(s sdktrace.ReadWriteSpan) {
	if sdk, ok := sdkspan.StartedOf(s); ok {
		if parent := sdk.Parent(); isLocalRoot(parent) {
			l.start(sdk.SpanContext(), parent, s.Name(), *sdk.StartTime(), sdk.Resource())
		}
		return
	}
	if parent := s.Parent(); isLocalRoot(&parent) {
		ctx := s.SpanContext()
		l.start(&ctx, &parent, s.Name(), s.StartTime(), s.Resource())
	}
}

// End records the end of a local root or of a span with a profile of its own. Other spans
// may add to the record of a span above them. The span's attributes must not change any more.
func (l *Log) End(s sdktrace.ReadOnlySpan) {
	if sdk, ok := sdkspan.EndedOf(s); ok {
		l.endInPlace(s, sdk)
		return
	}
	// Each question may copy all that a span is, so none is put twice.
	parent, all := s.Parent(), s.Attributes()
	profiled, size := look(all)
	if !profiled && spanlabels.Counts.EverySpan.Load() {
		profiled = s.SpanContext().IsSampled()
	}
	if local := isLocalRoot(&parent); local || profiled {
		l.end(s, parent.SpanID(), local, profiled, all, size)
	} else if l.keys != nil {
		l.pass(s, parent.SpanID(), all, size)
	}
}

// endInPlace is End for a snapshot of the SDK.
func (l *Log) endInPlace(s sdktrace.ReadOnlySpan, sdk sdkspan.Ended) {
	parent, all := sdk.Parent(), sdk.Attributes()
	profiled, size := look(all)
	if !profiled && spanlabels.Counts.EverySpan.Load() {
		profiled = sdk.SpanContext().IsSampled()
	}
	switch local := isLocalRoot(parent); {
	case local || profiled:
		most := l.queue.maxPinned / pinnedShare
		pinned := size + pinnedSnapshot + int64(len(sdk.Name())+len(sdk.Status().Description)) +
			int64(cap(all)-len(all))*pinnedValue + stateOf(sdk.SpanContext()) + stateOf(parent)
		if pinned <= most {
			pinned += sizeOf(sdk.Events(), sdk.Links(), most)
		}
		if pinned > most {
			l.end(s, parent.SpanID(), local, profiled, all, size)
			return
		}
		shard, e := l.reserve()
		e.kind, e.snapshot, e.local, e.profiled, e.hasAttributes = ended, sdk.Ref(), local, profiled, size > 0
		l.publish(shard, e, pinned)
	case l.keys != nil:
		exception, status := l.exceptionOf(all, sdk.Events()), sdk.Status()
		some, passes := l.passes(size, exception, status.Code)
		if passes {
			l.passOn(sdk.SpanContext().SpanID(), parent.SpanID(), some, sdk.Name(), *status, all, size, exception)
		}
	}
}

// end records the end of a span that has a record; size is what its attributes take.
func (l *Log) end(s sdktrace.ReadOnlySpan, parent trace.SpanID, local, profiled bool, all []attribute.KeyValue, size int64) {
	ctx, status := s.SpanContext(), s.Status()
	start, duration := times(s.StartTime(), s.EndTime())
	e := event{
		kind: ended, key: ident.NewKey(ctx.SpanID()), name: s.Name(), resource: s.Resource(),
		trace: ctx.TraceID(), parent: parent, start: start, local: local,
	}
	d := details{status: status.Description, duration: duration, failed: status.Code == codes.Error}
	if local && ctx.IsSampled() && s.DroppedAttributes() == 0 {
		d.origin, d.scope = originOf(profiled), s.InstrumentationScope().Name
	}
	var pinned int64
	if l.keys != nil {
		if exception := l.exceptionOf(all, s.Events()); size > 0 || exception.Any() {
			pinned = l.has(&e, &d, all, size, exception)
		}
	}
	l.enqueue(&e, &d, pinned+int64(len(e.name)+len(d.status)))
}

// pass gives the attributes of a child without a record to its parent. They belong to the
// nearest span above with a record.
func (l *Log) pass(s sdktrace.ReadOnlySpan, parent trace.SpanID, all []attribute.KeyValue, size int64) {
	exception, status := l.exceptionOf(all, s.Events()), s.Status()
	some, passes := l.passes(size, exception, status.Code)
	if !passes {
		return
	}
	var name string
	if some {
		name = s.Name()
	}
	l.passOn(s.SpanContext().SpanID(), parent, some, name, status, all, size, exception)
}

// times returns the start of a span that ended, in nanoseconds since 1970, and its
// duration.
func times(from, until time.Time) (start, duration int64) {
	start = ident.UnixNano(from)
	duration = max(0, int64(until.Sub(from)))
	if start > 0 {
		// The end, too, is a time that nanoseconds can tell.
		duration = min(duration, math.MaxInt64-start)
	}
	return start, duration
}

func isLocalRoot(parent *trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }

// exceptionOf returns a span's exception. It counts attributes and events beyond the bounds.
func (l *Log) exceptionOf(all []attribute.KeyValue, events []sdktrace.Event) attributes.Exception {
	exception := attributes.ExceptionOf(events)
	if n := attributes.Unseen(len(all)) + attributes.Unseen(len(events)) + attributes.Unseen(len(exception.Attributes)); n > 0 {
		l.queue.unseen.Add(int64(n))
	}
	return exception
}

// profileID is the attribute of spans that have a profile of their own.
const profileID = "pyroscope.profile.id"

// look reads a span's attributes up to a bound. It reports whether one has the profile's id,
// and about how many bytes the others take, 0 for none.
func look(all []attribute.KeyValue) (profiled bool, size int64) {
	size = int64(attributes.Unseen(len(all))) * pinnedValue // at least
	for i := 0; i < len(all); i = attributes.Next(i, len(all)) {
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
	if attributes.Unseen(len(all)) > 0 && !profiled {
		// What another one sets when the span starts may be anywhere.
		profiled = slices.ContainsFunc(all, func(a attribute.KeyValue) bool { return a.Key == profileID })
	}
	return profiled, size
}

// sizeOf returns about what events and links take in bytes. It does not look on where that
// is more than most.
func sizeOf(events []sdktrace.Event, links []sdktrace.Link, most int64) (size int64) {
	if int64(len(events)+len(links))*pinnedEvent > most {
		return most + 1
	}
	for i := 0; i < len(events) && size <= most; i++ {
		_, more := look(events[i].Attributes)
		size += pinnedEvent + int64(len(events[i].Name)) + more
	}
	for i := 0; i < len(links) && size <= most; i++ {
		_, more := look(links[i].Attributes)
		size += pinnedEvent + more + stateOf(&links[i].SpanContext)
	}
	return size
}

// stateOf returns about what the tracestate of a context takes in bytes, which may come
// from another service.
func stateOf(c *trace.SpanContext) int64 {
	state := c.TraceState()
	return pinnedState * int64(state.Len())
}
