// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inprocess wires a profiler, a store and a viewer together for the
// common case: the profiles of the newest spans, in the process that made them,
// on a page of its own.
//
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(
//		sdktrace.WithBatcher(spanExporter), sdktrace.WithResource(res)))
//	otel.SetTracerProvider(tp)
//
//	p, err := inprocess.Start(tp)
//	if err != nil {
//		return err
//	}
//	defer p.Shutdown(context.WithoutCancel(ctx)) // collects the last samples
//	mux.Handle("/debug/spanprof/", p.Handler())
//
// A program without a server of its own needs one line for the page, which
// returns when ctx ends:
//
//	go func() { log.Println(viewer.ListenAndServe(ctx, "localhost:6060", p.Handler())) }()
//
// A job ends before anybody opens a page. With SPANPROF_REPORT=report.html in the environment,
// Shutdown writes the page to that file; see [Profiling.WriteReport].
//
// The same profiles can go to a profile database by [WithExporter], and scrapers can fetch them:
//
//	mux.Handle("/debug/pprof/", profhttp.Handler(p.Profiler()))
//
// # Self-check
//
// Most mistakes show only as missing samples. So the provider, the labels, the profiler and
// the store are checked together. The page has the section Self-check, its JSON the field
// selfCheck of status. A certain mistake goes to otel.Handle once, which logs it unless the
// program sets a handler. Nothing about labels is logged until 100 spans have ended and 5 s of
// CPU time are sampled. The page shows it from the first span on.
//
// # A new provider
//
// A program that replaces its provider, at a config reload, gives the new one the store's
// processor. Otherwise its spans are labelled and the page does not list them. The page Log
// counts their samples, once two segments of the store are full:
//
//	next := spanprof.NewTracerProvider(sdk)
//	next.RegisterSpanProcessor(p.Store().SpanProcessor())
//	otel.SetTracerProvider(next)
package inprocess
