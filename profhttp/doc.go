// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profhttp serves profiles to those who ask for them: Alloy, a Collector,
// Parca, go tool pprof, curl. It answers under the paths of net/http/pprof, and
// shares the process's one CPU profiler between them and a running
// [profiler.Profiler].
//
// # Use
//
//	mux.Handle("/debug/pprof/", profhttp.Handler(p))
//
//	curl -o cpu.pprof 'http://localhost:6060/debug/pprof/profile?seconds=10'
//	go tool pprof 'http://localhost:6060/debug/pprof/heap'
//
// Any other prefix works too, since the end of the path says what is asked for.
// Nothing is registered on http.DefaultServeMux, and nothing is measured before
// somebody asks.
//
// # What is served
//
//   - /: a page with links.
//   - profile?seconds=N: the CPU profile of the next N seconds, 30 if it does
//     not say. While the Profiler profiles the CPU this is cut out of its own
//     profile, for any number of scrapers at once, and its windows go on; it
//     is not cut more often than once a second, so that N below 1 takes up to
//     a second and tells how long it is; see
//     [profiler.Profiler.Profile]. Otherwise it is a profile of its own, and
//     answered with 500 while another one runs.
//   - wall?seconds=N: the same of the time that spans spent, on and off CPU,
//     if the Profiler measures that.
//   - heap, allocs, goroutine, mutex, block, threadcreate and every other
//     profile of runtime/pprof, with debug=N, gc=1 (heap) and seconds=N (the
//     difference between two profiles) as in net/http/pprof.
//   - delta_heap, delta_mutex, delta_block: what has been added since the last
//     request for it, or since the process began. A Handler keeps one state for
//     each, so two scrapers of deltas need a Handler each. What is in an answer is
//     in no later one: if the client goes before it has read it, it is lost. HEAD
//     is refused.
//   - cmdline, symbol, trace?seconds=N: as in net/http/pprof.
//
// mutex and block are empty unless the program, or profiler.WithMutexFraction
// and profiler.WithBlockRate, have the runtime count.
//
// Values of seconds, debug and gc that make no sense are answered with 400 and
// text, where net/http/pprof takes its default.
//
// # Shutting down
//
// Shut the Profiler down first, and the http.Server afterwards: that ends the
// profiles that are being taken, and their clients get what there is. A Server that
// is shut down first waits for them, and the time may be gone before the
// Profiler's own last windows are exported.
//
// # Who may ask
//
// Everybody who reaches the port: like net/http/pprof, the handler looks neither
// at the Host header, because scrapers send pod addresses, nor at who asks.
// Profiles tell function names, labels and the command line. Serve them on a
// port of their own, or behind the program's authentication.
package profhttp

// For developers: handler.go finds what is asked for; timed.go has profile and
// wall, lookup.go the profiles of runtime/pprof, delta.go those of godeltaprof,
// trace.go, symbol.go and index.go the rest; request.go reads parameters and
// response.go answers.
