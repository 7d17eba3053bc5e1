// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelfacts"
	"github.com/spanprof/spanprof/internal/livelabels"
)

// labelling is how spans are labelled, by a TracerProvider or a SpanProcessor.
type labelling struct {
	config   config
	labeler  labeler
	names    *spanNames
	links    *links          // nil without URL attributes
	idAlone  bool            // AttributeProfileID is a span's one attribute
	provider *TracerProvider // nil for a SpanProcessor

	endsElsewhere atomic.Uint64
	facts         *labelfacts.Labeller // for the self-check
}

func newLabelling(c config) *labelling {
	l := &labelling{
		config: c,
		names:  newSpanNames(c.maxNames, c.maxNameBytes),
		links:  newLinks(&c),
	}
	l.idAlone = l.links == nil && !c.noProfileID
	switch err := c.unknownRuntime(); {
	case c.publicLabels, errors.Is(err, goruntime.ErrPublic):
		l.labeler = publicLabeler{} // as the program chose
	case err != nil:
		otel.Handle(fmt.Errorf("spanprof: spans that end out of order or on another goroutine, and labels of goroutines, are handled less well, as with WithPublicLabelsOnly: the runtime of %s is not as expected: %w", runtime.Version(), err))
		l.labeler = publicLabeler{}
	default:
		livelabels.Register(&heldAtHook)
		l.labeler = runtimeLabeler{}
	}
	return l
}

// begin fills in the state of a span that has started and labels the goroutine.
func (l *labelling) begin(ctx, innerCtx context.Context, span trace.Span, sc *trace.SpanContext, s, parent *spanState, name string) {
	s.by = l
	s.ctx = spanContext{innerCtx, span, s}
	s.traceID = sc.TraceID()
	l.facts.Count(s.traceID, sc.IsSampled())

	c := &l.config
	s.sampled = sc.IsSampled()
	if parent != nil && parent.traceID == s.traceID && l.canInherit(parent.root, s) {
		s.root = parent.root
		if s.sampled {
			l.labelChild(ctx, s, sc.SpanID(), name)
		}
		return
	}
	if !s.sampled && (!c.unsampledNames || c.nameScope == ScopeNone) {
		return
	}
	s.root, s.labelled = s, true
	s.labelID = sc.SpanID()
	s.profiled = s.sampled && c.idScope != ScopeNone
	if c.nameScope == ScopeNone {
		name = ""
	} else {
		name = l.names.label(name)
	}
	l.labeler.start(ctx, s, name)
	s.markTrace(innerCtx, span)
}

// canInherit reports whether s is a descendant of root for its labels. It is a
// root of its own where root lacks the ids that a sampled span has, or has its
// labels of another labeler.
func (l *labelling) canInherit(root, s *spanState) bool {
	return root != nil && (root.sampled || !s.sampled) && root.by.labeler == l.labeler
}

// labelChild labels the goroutine for a span with a local parent.
func (l *labelling) labelChild(ctx context.Context, s *spanState, id trace.SpanID, name string) {
	c := &l.config
	s.labelled = true
	s.labelID = s.root.labelID
	if c.idScope != ScopeAllSpans && c.nameScope != ScopeAllSpans {
		l.labeler.inherit(ctx, s)
		return
	}
	if c.idScope == ScopeAllSpans {
		s.labelID = id
		s.profiled = true
	}
	switch c.nameScope {
	case ScopeAllSpans:
		name = l.names.label(name)
	case ScopeRootSpan:
		name = s.root.by.labeler.name(s.root)
	default:
		name = ""
	}
	l.labeler.start(ctx, s, name)
}

// setAttributes sets the attributes of a span that is about to end: not before,
// so that where the number of attributes is limited the program's own come first.
func (l *labelling) setAttributes(span trace.Span, s *spanState) {
	if l.idAlone {
		id := attribute.String(AttributeProfileID, l.labeler.profileID(s))
		switch of := s.ctx.span.(type) {
		case *rootSpan:
			of.attribute[0] = id
			span.SetAttributes(of.attribute[:]...)
		case *profiledChild:
			of.attribute[0] = id
			span.SetAttributes(of.attribute[:]...)
		default:
			span.SetAttributes(id)
		}
		return
	}
	if l.links == nil {
		return
	}
	kv := make([]attribute.KeyValue, 0, maxAttributes)
	if !l.config.noProfileID {
		kv = append(kv, attribute.String(AttributeProfileID, l.labeler.profileID(s)))
	}
	start := startTime(span, s)
	// The end is derived as in the SDK: one clock is read, not two.
	span.SetAttributes(l.links.appendAttributes(kv, span, s.link(start, start.Add(time.Since(start))))...)
}
