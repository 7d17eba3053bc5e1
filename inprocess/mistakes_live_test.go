// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
)

// mistake is a program with one. Each runs in a process of its own.
type mistake struct {
	// what is the mistake, id the finding of it. Programs without a mistake have no id.
	what, id string
	// wrong is false for a note.
	wrong bool
	// logged is a part of the text of an error to otel.Handle, "" without one.
	logged string
	run    func(*program)
}

// program is what a mistake is made with.
type program struct {
	context.Context
	*inprocess.Profiling
}

// start starts to profile, and must not fail.
func (p *program) start(tp inprocess.TracerProvider, opts ...profiler.Option) {
	var err error
	p.Profiling, err = inprocess.Start(tp, inprocess.WithProfilerOptions(append(opts, profiler.WithWindow(time.Hour))...))
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// shop is the resource of the spans.
var shop = resource.NewSchemaless(attribute.String("service.name", "shop"))

func sdk(opts ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{sdktrace.WithResource(shop)}, opts...)...)
}

// wrapped returns the provider of a program that is as it should be.
func wrapped(opts ...sdktrace.TracerProviderOption) *spanprof.TracerProvider {
	tp := spanprof.NewTracerProvider(sdk(opts...))
	otel.SetTracerProvider(tp)
	return tp
}

// serve starts and ends spans that work for some time together.
func (p *program) serve(tracer trace.Tracer, spans int) {
	for range spans {
		_, span := tracer.Start(p, "GET /cart")
		work(time.Second / time.Duration(2*spans))
		span.End()
	}
}

// work uses the CPU for d.
func work(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 1000 {
			n++
		}
	}
}

// mistakes are those that users make, one for each fact that needs a process. Package selfcheck
// tests the rules over these facts, and over the status of the profiler and the store.
var mistakes = []mistake{
	{
		what: "as documented",
		run: func(p *program) {
			p.start(wrapped())
			p.serve(otel.Tracer("shop"), 200)
		},
	},
	{
		what: "a reload with the store's processor on the new provider",
		run: func(p *program) {
			old := wrapped()
			p.start(old)
			p.serve(otel.Tracer("shop"), 200)
			must(old.Shutdown(p))
			wrapped().RegisterSpanProcessor(p.Store().SpanProcessor())
			p.serve(otel.Tracer("shop"), 200)
		},
	},
	{
		what: "the SDK's provider is not wrapped", id: "spans-without-labels", wrong: true,
		logged: `200 of 200 local root spans have no labels, all of 1 tracer "shop"`,
		run: func(p *program) {
			tp := sdk()
			otel.SetTracerProvider(tp)
			p.start(tp)
			p.serve(otel.Tracer("shop"), 200)
		},
	},
	{
		what: "Start gets no provider", id: "provider-missing", wrong: true,
		logged: "are labelled and 0 are recorded",
		run: func(p *program) {
			wrapped()
			p.start(nil)
			p.serve(otel.Tracer("shop"), 20_000)
		},
	},
	{
		what: "the sampler samples nothing", id: "spans-not-sampled",
		run: func(p *program) {
			p.start(wrapped(sdktrace.WithSampler(sdktrace.NeverSample())))
			p.serve(otel.Tracer("shop"), 10)
		},
	},
	{
		what: "spans that are never ended", id: "spans-not-ended",
		run: func(p *program) {
			p.start(wrapped())
			for range 150 {
				otel.Tracer("shop").Start(p, "GET /cart", trace.WithTimestamp(time.Now().Add(-time.Hour)))
			}
		},
	},
	{
		what: "the resource given is not the provider's", id: "service-names-differ", wrong: true,
		logged: `Spans have service.name "shop", CPU profiles "cart"`,
		run: func(p *program) {
			p.start(wrapped(), profiler.WithResource(resource.NewSchemaless(attribute.String("service.name", "cart"))))
			p.serve(otel.Tracer("shop"), 10)
			for range 2 {
				must(p.Flush(p))
			}
		},
	},
}
