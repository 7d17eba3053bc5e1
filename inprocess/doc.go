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
//	defer p.Shutdown(ctx)
//	mux.Handle("/debug/spanprof/", p.Handler())
//
// A program without a server of its own needs one line for the page, which
// returns when ctx ends:
//
//	go func() { log.Println(viewer.ListenAndServe(ctx, "localhost:6060", p.Handler())) }()
//
// A program with needs of its own puts packages profiler, store and viewer
// together itself; this package does nothing that it could not do.
package inprocess
