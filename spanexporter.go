// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/linkurl"
)

// spanExporter adds profile attributes on the way to another exporter.
type spanExporter struct {
	sdktrace.SpanExporter
	labelling *labelling
}

// NewSpanExporter returns an exporter that adds the profile attributes to spans
// on their way to exporter, so that setting them costs the program's spans
// nothing. Give it the options of the TracerProvider, and give the
// TracerProvider [WithoutProfileIDAttribute] and none of the URLs:
//
//	exporter = spanprof.NewSpanExporter(exporter, spanprof.WithPyroscopeURL(addr), spanprof.WithProfileURL(true))
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)),
//		spanprof.WithoutProfileIDAttribute())
//
// It knows spans by what is exported of them. It takes the sampled ones without
// a local parent, or in all-spans scope every sampled one, for labelled: not
// those whose parent alone was not sampled. It does not know of labels of the
// user's, nor of a name that the label had before SetName or lost to the bound
// on names: baselines are those of the span's last name alone. Attributes that
// a span has already stay. Span processors do not see the attributes.
func NewSpanExporter(exporter sdktrace.SpanExporter, opts ...Option) sdktrace.SpanExporter {
	c := newConfig(opts)
	if exporter == nil || c.disabled || c.idScope == ScopeNone {
		return exporter
	}
	return &spanExporter{exporter, newLabelling(c)}
}

// ExportSpans exports the spans with their attributes.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	profiled := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, span := range spans {
		profiled[i] = e.profiled(span)
	}
	return e.SpanExporter.ExportSpans(ctx, profiled)
}

// profiled returns the span with the attributes that it should have.
func (e *spanExporter) profiled(span sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	l := e.labelling
	sc, parent := span.SpanContext(), span.Parent()
	localRoot := !parent.IsValid() || parent.IsRemote()
	if !sc.IsSampled() || !localRoot && l.config.idScope != ScopeAllSpans {
		return span
	}
	id := sc.SpanID().String()
	own := make([]attribute.KeyValue, 0, maxAttributes)
	if !l.config.noProfileID {
		own = append(own, attribute.String(AttributeProfileID, id))
	}
	if l.links != nil {
		name := ""
		if l.config.nameScope == ScopeAllSpans || l.config.nameScope == ScopeRootSpan && localRoot {
			name = l.names.label(span.Name())
		}
		l.links.prepare(span)
		to := linkurl.Span{
			ID: id, TraceID: sc.TraceID().String(),
			Name: l.links.escapedName(name), Baseline: l.links.baselineOf(name),
		}
		to.SetTimes(span.StartTime(), span.EndTime())
		own = l.links.appendAttributes(own, &to)
	}
	attributes := slices.Clip(span.Attributes())
	for _, a := range own {
		if !slices.ContainsFunc(attributes, func(present attribute.KeyValue) bool { return present.Key == a.Key }) {
			attributes = append(attributes, a)
		}
	}
	return &profiledSpan{span, attributes}
}

// profiledSpan is a span with other attributes.
type profiledSpan struct {
	sdktrace.ReadOnlySpan
	attributes []attribute.KeyValue
}

func (s *profiledSpan) Attributes() []attribute.KeyValue { return s.attributes }
