// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// Wrapper is a wrapper of tracer providers, with its setup.
type Wrapper struct {
	// Wrap wraps a provider so that spans are labelled in the scope below.
	Wrap func(trace.TracerProvider) trace.TracerProvider
	// AllSpans reports whether every span has labels of its own, not only local
	// roots.
	AllSpans bool
	// CannotRead reports that the wrapper cannot read a goroutine's labels.
	// Rows that need it then check the weaker, documented result.
	CannotRead bool
}

// Run checks one row and returns its failures.
func (w Wrapper) Run(r Row) error {
	c := &Case{Wrapper: w}
	// A row must not see another row's labels on the goroutine.
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(context.Background())
		r.check(c)
	}()
	<-done
	return errors.Join(c.errs...)
}

// Case is one run of a row.
type Case struct {
	Wrapper
	errs []error
}

func (c *Case) errorf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// sdk is a provider of the SDK, wrapped.
type sdk struct {
	bare     *sdktrace.TracerProvider
	wrapped  trace.TracerProvider
	tracer   trace.Tracer
	recorder *tracetest.SpanRecorder
}

func (c *Case) newSDK(options ...sdktrace.TracerProviderOption) *sdk {
	s := &sdk{recorder: tracetest.NewSpanRecorder()}
	s.bare = sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(s.recorder))...)
	s.wrapped = c.Wrap(s.bare)
	s.tracer = s.wrapped.Tracer("conformance")
	return s
}

// ended returns the ended span with the given name.
func (s *sdk) ended(name string) sdktrace.ReadOnlySpan {
	for _, span := range s.recorder.Ended() {
		if span.Name() == name {
			return span
		}
	}
	return tracetest.SpanStub{Name: "no span " + name}.Snapshot()
}

// Labels is the label set of a goroutine or a context.
type Labels map[string]string

// GoroutineLabels returns the labels of the calling goroutine, as a goroutine
// profile shows them. Only one goroutine may call it at a time.
func GoroutineLabels() Labels {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		return Labels{"error": err.Error()}
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return Labels{"error": err.Error()}
	}
	for _, sample := range p.Sample {
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if line.Function.Name == "github.com/spanprof/spanprof/internal/conformtest.GoroutineLabels" {
					found := Labels{}
					for key, values := range sample.Label {
						found[key] = values[0]
					}
					return found
				}
			}
		}
	}
	return Labels{"error": "the calling goroutine is not in the goroutine profile"}
}

// elsewhere runs f on another goroutine, which carries no Labels, and waits.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(context.Background())
		f()
	}()
	<-done
}

// contextLabels returns the labels that runtime/pprof finds in ctx.
func contextLabels(ctx context.Context) Labels {
	found := Labels{}
	pprof.ForLabels(ctx, func(key, value string) bool {
		found[key] = value
		return true
	})
	return found
}

// carries checks that the goroutine carries the labels of span, with the given
// name, and others. It must carry no more labels.
func (c *Case) carries(when string, span trace.Span, name string, others ...Labels) {
	c.same(when, GoroutineLabels(), span, name, others...)
}

// same checks that got are the labels of span and others.
func (c *Case) same(when string, got Labels, span trace.Span, name string, others ...Labels) {
	id := span.SpanContext().SpanID().String()
	want := Labels{"span_id": id, "span_name": name, "trace_id": span.SpanContext().TraceID().String()}
	// Not all wrappers set the alias.
	if _, ok := got["profile_id"]; ok {
		want["profile_id"] = id
	}
	for _, o := range others {
		maps.Copy(want, o)
	}
	c.equal(when, got, want)
}

// bare checks that the goroutine carries no labels but others.
func (c *Case) bare(when string, others ...Labels) {
	want := Labels{}
	for _, o := range others {
		maps.Copy(want, o)
	}
	c.equal(when, GoroutineLabels(), want)
}

func (c *Case) equal(when string, got, want Labels) {
	if !maps.Equal(got, want) {
		c.errorf("%s: labels %v, want %v", when, got, want)
	}
}

// owner returns the span that labels the work of child, and its name: child in
// all-spans scope, root in root scope.
func (c *Case) owner(root, child trace.Span, rootName, childName string) (trace.Span, string) {
	if c.AllSpans {
		return child, childName
	}
	return root, rootName
}
