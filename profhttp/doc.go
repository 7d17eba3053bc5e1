// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profhttp serves profiles over HTTP: to Alloy, a Collector,
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
// Any other prefix works too: the end of the path selects the profile. Nothing is
// registered on http.DefaultServeMux, and nothing is measured without a request.
//
// # What is served
//
//   - /: a page with links.
//   - profile?seconds=N: the CPU profile of the next N seconds, 30 by
//     default. While the Profiler profiles the CPU this is cut out of its own
//     profile, for any number of scrapers at once, and its windows go on; it
//     is cut at most once a second, so that N below 1 takes up to a second.
//     The duration is in the profile; see
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
// Invalid values of seconds, debug and gc are answered with 400 and text; net/http/pprof
// takes its default.
//
// # Shutting down
//
// Shut the Profiler down first, and the http.Server afterwards: that ends the
// profiles that are being taken, and their clients get what there is. A Server that
// is shut down first waits for them. Then there may be no time left to export the
// Profiler's own last windows.
//
// # Access
//
// Every client of the port has access: like net/http/pprof, the handler does not check
// the Host header, because scrapers send pod addresses, and has no authentication.
// Profiles contain function names, labels and the command line. Serve them on a
// port of their own, or behind the program's authentication.
//
// Only where a GET changes state, delta_* and gc, requests from pages of other sites are
// refused with 403. Browsers mark them in Sec-Fetch-Site, or old ones in Origin. Over plain
// HTTP to another host than localhost they mark nothing: all their such requests are refused.
package profhttp

// For developers: handler.go selects the profile. timed.go has profile and wall,
// lookup.go the profiles of runtime/pprof, delta.go the deltas of godeltaprof.
// trace.go, symbol.go and index.go have the rest. request.go reads parameters, response.go
// answers.
