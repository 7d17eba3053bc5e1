// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/report"
)

// NewSpanExporter returns an exporter that adds the profile attributes to spans on their
// way to exporter. Give it the options of the TracerProvider, and give the TracerProvider
// [WithoutProfileIDAttribute] and no URLs:
//
//	exporter = spanprof.NewSpanExporter(exporter, spanprof.WithPyroscopeURL(addr), spanprof.WithProfileURL(true))
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)),
//		spanprof.WithoutProfileIDAttribute())
//
// Sampled spans without a sampled local parent get the attributes, in all-spans scope all
// sampled spans. A baseline depends on a span's last name alone, not on the user's labels.
// Attributes that a span has already stay. Span processors do not see the attributes. A nil
// exporter is reported through otel.Handle, and the result is nil, which exports nothing.
func NewSpanExporter(exporter sdktrace.SpanExporter, opts ...Option) sdktrace.SpanExporter {
	c := newConfig(opts)
	if report.IsNil(exporter) {
		otel.Handle(errors.New("spanprof: NewSpanExporter: the exporter is nil; no spans will be exported"))
		return nil
	}
	if c.disabled || c.idScope == ScopeNone {
		return exporter
	}
	return &spanExporter{exporter, newLabelling(c)}
}

type spanExporter struct {
	sdktrace.SpanExporter
	by *labelling
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	spans, c := slices.Clone(spans), &e.by.config
	for i, span := range spans {
		root := span.Parent().IsRemote() || !span.Parent().IsSampled()
		if span.SpanContext().IsSampled() && (root || c.idScope == ScopeAllSpans) {
			spans[i] = &profiledSpan{span, e.attributes(span, root)}
		}
	}
	return e.SpanExporter.ExportSpans(ctx, spans)
}

// attributes returns the attributes of span with the profile's.
func (e *spanExporter) attributes(span sdktrace.ReadOnlySpan, root bool) []attribute.KeyValue {
	to := linkedSpan{id: span.SpanContext().SpanID().String(), start: span.StartTime(), end: span.EndTime()}
	var own []attribute.KeyValue
	if !e.by.config.noProfileID {
		own = append(own, attribute.String(AttributeProfileID, to.id))
	}
	if e.by.links != nil {
		if scope := e.by.config.nameScope; scope == ScopeAllSpans || scope == ScopeRootSpan && root {
			to.name = e.by.names.label(span.Name())
		}
		own = e.by.links.appendAttributes(own, span, to)
	}
	present := slices.Clip(span.Attributes())
	return append(present, slices.DeleteFunc(own, func(a attribute.KeyValue) bool {
		return slices.ContainsFunc(present, func(p attribute.KeyValue) bool { return p.Key == a.Key })
	})...)
}

type profiledSpan struct {
	sdktrace.ReadOnlySpan
	attributes []attribute.KeyValue
}

func (s *profiledSpan) Attributes() []attribute.KeyValue { return s.attributes }
