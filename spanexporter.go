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
)

// WithoutProfileIDAttribute leaves out the attribute [AttributeProfileID], which leads from
// an exported trace to the profile. It costs a span 110 to 450 ns. Without it the page of
// package inprocess still finds all spans, by their own ids. A program that exports
// traces can have it added at the export, by [NewSpanExporter].
func WithoutProfileIDAttribute() Option {
	return optionFunc(func(c *config) { c.noProfileID = true })
}

// NewSpanExporter returns an exporter that adds the profile attributes to spans on their
// way to exporter. The program's spans then do not pay for them. Give it the options of
// the TracerProvider, and give the TracerProvider [WithoutProfileIDAttribute] and no URLs:
//
//	exporter = spanprof.NewSpanExporter(exporter, spanprof.WithPyroscopeURL(addr), spanprof.WithProfileURL(true))
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)),
//		spanprof.WithoutProfileIDAttribute())
//
// Sampled spans without a local parent get the attributes, in all-spans scope all sampled
// spans. A baseline depends on the last name of a span alone, not on the user's labels.
// Attributes that a span has already stay. Span processors do not see the attributes.
//
// A nil exporter is reported through otel.Handle, and the result is nil, which exports nothing.
func NewSpanExporter(exporter sdktrace.SpanExporter, opts ...Option) sdktrace.SpanExporter {
	c := newConfig(opts)
	if isNil(exporter) {
		otel.Handle(errors.New("spanprof: NewSpanExporter: the exporter is nil; no spans will be exported"))
		return nil
	}
	if c.disabled || c.idScope == ScopeNone {
		return exporter
	}
	return &spanExporter{exporter, c, newSpanNames(c.maxNames, c.maxNameBytes), newLinks(&c)}
}

type spanExporter struct {
	sdktrace.SpanExporter
	config config
	names  *spanNames
	links  *links // nil without URLs
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	profiled := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, span := range spans {
		profiled[i] = e.profiled(span)
	}
	return e.SpanExporter.ExportSpans(ctx, profiled)
}

// profiled returns the span with its profile attributes.
func (e *spanExporter) profiled(span sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	sc, parent := span.SpanContext(), span.Parent()
	localRoot := !parent.IsValid() || parent.IsRemote()
	if !sc.IsSampled() || !localRoot && e.config.idScope != ScopeAllSpans {
		return span
	}
	to := linkedSpan{id: sc.SpanID().String(), start: span.StartTime(), end: span.EndTime()}
	var own []attribute.KeyValue
	if !e.config.noProfileID {
		own = append(own, attribute.String(AttributeProfileID, to.id))
	}
	if e.links != nil {
		if e.config.nameScope == ScopeAllSpans || e.config.nameScope == ScopeRootSpan && localRoot {
			to.name = e.names.label(span.Name())
		}
		own = e.links.appendAttributes(own, span, to)
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
