// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows the spans and profiles of a [store.Source], such as a
// [store.Store]. It lists the recent spans with their wall and CPU time. Each has a flame graph,
// and the differences from other spans of its name. One [http.Handler] serves pages, JSON, plain
// text and pprof:
//
//	mux.Handle("/debug/spanprof/", viewer.Handler(s))
//
// # Mounting
//
// Only the last segment of a request's path counts, so any prefix works, with or without
// [http.StripPrefix]. Links of pages are relative: mount a path that ends in a slash.
//
//	./                   the recent spans; with query=, a flame graph
//	./names              the sums of spans by name
//	./comparison         two flame graphs and a table of their differences
//	./comparison-diff    one flame graph, coloured by its differences
//	./profile            the same as ./ with a query and format=pprof
//	./about              the times of a name's spans, and why the slow ones are slow
//	./waits              the exact waits of a span, or of the spans of a name, as pprof
//	./timeline           the value of a query over time, for programs
//	./source             lines of source code; see [WithSourceCode]
//	./running            the stacks of the goroutines of open spans (see WithRunning)
//	./leaks              POST: the leaked goroutines by span name (see WithLeaks)
//	./log                what was received, refused and dropped
//	./flush              POST: closes the open window (see WithFlush)
//
// The pages of Pyroscope 0.x had these addresses: links to spans for such a server
// work here too. Programs without a server of their own use a loopback address:
//
//	err := viewer.ListenAndServe(ctx, "localhost:6060", viewer.Handler(s))
//
// # Privacy
//
// Profiles reveal much about a program. The handler answers requests to loopback names only,
// unless [WithAllowedHosts] lists others. It checks the name, not the address: listen on a
// loopback address as well, or put an authenticating proxy in front. Links from other
// sites get the page, whatever their format; their images, frames and scripts are
// refused. The pages load nothing from outside. Only a POST to flush changes anything, and
// only a POST to leaks costs a garbage collection. Both must come from the pages or from a program.
//
// # Queries
//
// A flame graph has a query in FlameQL and a time:
//
//	query=shop.cpu{profile_id="00f067aa0ba902b7"}   one span
//	query=.cpu{span_name="GET /search"}             all spans of a name
//	query={span_name=~"GET .*", tenant!="test"}     by labels of the program
//	query=.inuse_space&from=now-1h                  the heap of the process
//
// The file docs/viewer.md of the module has all types, labels, parameters and formats, and the JSON.
//
// # Limits
//
// A span with less CPU time than passes between two samples, 10 ms by default, mostly has
// none. Shares of few samples are rough: n samples are precise to about 1/√n. Each wall time has
// a standard error. It assumes that spans begin independently of each other.
package viewer
