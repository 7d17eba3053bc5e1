// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	rtrace "runtime/trace"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// The goroutine labels of a span, which runtime/pprof puts on CPU and
// goroutine samples. LabelProfileID and LabelSpanID have the same value, so
// that backends which know only one of the two find the span.
const (
	// LabelProfileID, "profile_id", is 16 hex digits: the local root's id in
	// root scope, the span's own in all-spans scope.
	LabelProfileID = labelkey.ProfileID
	// LabelSpanID, "span_id", has the value of LabelProfileID.
	LabelSpanID = labelkey.SpanID
	// LabelSpanName, "span_name", is the span's name, within [WithSpanNameLimit].
	LabelSpanName = labelkey.SpanName
	// LabelTraceID, "trace_id", is the trace id in 32 hex digits.
	LabelTraceID = labelkey.TraceID
)

// labelling is the way of a TracerProvider or a SpanProcessor to label spans.
type labelling struct {
	config   config
	names    *spanNames
	links    *links          // nil without URL attributes
	idAlone  bool            // AttributeProfileID is the only attribute
	provider *TracerProvider // nil for a SpanProcessor
}

func newLabelling(c config) *labelling {
	l := &labelling{
		config: c,
		names:  newSpanNames(c.maxNames, c.maxNameBytes),
		links:  newLinks(&c),
	}
	l.idAlone = l.links == nil && !c.noProfileID
	if noID := c.noProfileID || c.idScope == ScopeNone; noID && !c.disabled {
		spanlabels.Counts.NoProfileID.Store(true)
		spanlabels.Counts.EverySpan.CompareAndSwap(false, c.idScope == ScopeAllSpans)
	}
	reportRuntime(goruntime.Unknown())
	return l
}

// reportRuntime reports a runtime that is not as expected. The build tag
// spanprof_public is the program's own choice.
func reportRuntime(err error) {
	if err != nil && !errors.Is(err, goruntime.ErrPublic) {
		otel.Handle(fmt.Errorf("spanprof: spans that end out of order or on another goroutine, and labels of goroutines, "+
			"are handled less well: the runtime of %s is not as expected: %w", runtime.Version(), err))
	}
}

// nameLabel returns the value of LabelSpanName for a span's name.
func (l *labelling) nameLabel(name string) string {
	label := l.names.label(name)
	if label == otherSpanName && name != otherSpanName {
		spanlabels.Counts.NamesFull.Store(int64(l.config.maxNames))
	}
	return label
}

// begin fills in the state of a span that has started and labels the goroutine.
func (l *labelling) begin(
	ctx, innerCtx context.Context, span trace.Span, sc *trace.SpanContext, s, parent *spanState, name string,
) {
	s.by = l
	s.ctx = spanContext{innerCtx, span, s}
	s.traceID = sc.TraceID()
	s.sampled = sc.IsSampled()
	// A span is a local root of its own where the root above lacks its ids.
	if parent != nil && parent.root != nil && parent.traceID == s.traceID && (parent.root.sampled || !s.sampled) {
		s.root = parent.root
		if s.sampled {
			l.labelChild(ctx, s, sc.SpanID(), name)
		}
		spanlabels.Count(s.traceID, s.sampled)
		return
	}
	c := &l.config
	counted := (s.sampled || c.unsampledNames && c.nameScope != ScopeNone) && l.labelRoot(ctx, s, sc.SpanID(), name)
	if !counted {
		spanlabels.Count(s.traceID, s.sampled)
	}
}

// labelRoot labels the goroutine for a local root. It reports whether a SpanProcessor
// has done that and counted the span.
func (l *labelling) labelRoot(ctx context.Context, s *spanState, id trace.SpanID, name string) bool {
	s.root = s
	s.labelID = id
	s.profiled = s.sampled && l.config.idScope != ScopeNone
	v := l.values(s)
	if l.config.nameScope != ScopeNone {
		v.Name = l.nameLabel(name)
	}
	s.block = spanlabels.Start(ctx, nil, &v)
	if rtrace.IsEnabled() {
		_, hasTask := s.ctx.span.(sdktrace.ReadOnlySpan)
		s.block.MarkRoot(s.ctx.Context, hasTask)
	}
	return v.Replaced
}

// labelChild labels the goroutine for a span with a local parent.
func (l *labelling) labelChild(ctx context.Context, s *spanState, id trace.SpanID, name string) {
	c := &l.config
	root := s.root.block
	s.labelID = s.root.labelID
	if c.idScope != ScopeAllSpans && c.nameScope != ScopeAllSpans {
		if !spanlabels.Inherits(ctx, root) {
			v := l.values(s)
			v.Name = root.Name()
			s.block = spanlabels.Start(ctx, root, &v)
		}
		return
	}
	if c.idScope == ScopeAllSpans {
		s.labelID = id
		s.profiled = true
	}
	v := l.values(s)
	switch c.nameScope {
	case ScopeAllSpans:
		v.Name = l.nameLabel(name)
	case ScopeRootSpan:
		v.Name = root.Name()
	}
	s.block = spanlabels.Start(ctx, root, &v)
}

// values returns the label values of a span without its name.
func (l *labelling) values(s *spanState) spanlabels.Values {
	v := spanlabels.Values{
		Span: s.labelID, Trace: s.traceID,
		SpanID: s.sampled && l.config.idScope != ScopeNone, TraceID: s.sampled,
		Processor: s.byProcessor,
	}
	if spanlabels.TimesKept.Load() {
		v.Start = s.startTime().UnixNano()
	}
	return v
}

// setAttributes sets the attributes of a span that is about to end. The
// program's own come first if the number of attributes is limited.
func (l *labelling) setAttributes(span trace.Span, s *spanState) {
	if l.idAlone {
		id := attribute.String(AttributeProfileID, s.block.ID())
		if of, ok := s.ctx.span.(*sdkSpan); ok {
			of.attribute[0] = id
			span.SetAttributes(of.attribute[:]...)
		} else {
			span.SetAttributes(id)
		}
		return
	}
	if l.links == nil {
		return
	}
	kv := make([]attribute.KeyValue, 0, maxAttributes)
	if !l.config.noProfileID {
		kv = append(kv, attribute.String(AttributeProfileID, s.block.ID()))
	}
	start := s.startTime()
	// The end is derived as in the SDK: one clock is read, not two.
	span.SetAttributes(l.links.appendAttributes(kv, span, s.link(start, start.Add(time.Since(start))))...)
}
