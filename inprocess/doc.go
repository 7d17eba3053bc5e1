// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inprocess wires a profiler, a store and a viewer together for the
// common case: the profiles of the newest spans, in the process that made them,
// on a page of its own.
//
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(
//		sdktrace.WithBatcher(exporter), sdktrace.WithResource(res)))
//	otel.SetTracerProvider(tp)
//
//	p, err := inprocess.Start(tp, inprocess.WithResource(res))
//	if err != nil {
//		return err
//	}
//	defer p.Shutdown(context.WithoutCancel(ctx)) // takes the last samples in
//	mux.Handle("/debug/spanprof/", p.Handler())
//
// A program without a server of its own needs one line for the page, which
// returns when ctx ends:
//
//	go func() { log.Println(viewer.ListenAndServe(ctx, "localhost:6060", p.Handler())) }()
//
// The same profiles go to a profile database, and are fetched by scrapers, where
// the program says so:
//
//	push, err := pyroscope.New("http://pyroscope:4040")
//	...
//	p, err := inprocess.Start(tp, inprocess.WithResource(res), inprocess.WithExporter(push))
//	...
//	mux.Handle("/debug/pprof/", profhttp.Handler(p.Profiler()))
//
// A program with needs of its own puts packages profiler, store and viewer
// together itself; this package does nothing that it could not do.
package inprocess
