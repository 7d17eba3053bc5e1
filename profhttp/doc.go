// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profhttp serves profiles over HTTP: to Alloy, a Collector, Parca, go tool pprof and
// curl. It uses the paths of net/http/pprof, and shares the one CPU profiler of the process
// with a [profiler.Profiler].
//
//	mux.Handle("/debug/pprof/", profhttp.Handler(p.Profiler())) // p is of inprocess.Start
//
// Then:
//
//	curl -o cpu.pprof 'http://localhost:6060/debug/pprof/profile?seconds=10'
//	go tool pprof 'http://localhost:6060/debug/pprof/heap'
//
// Nothing is registered on http.DefaultServeMux. The last part of the path selects the profile:
//
//   - /: links to all profiles.
//   - profile?seconds=N: the CPU profile of the next N seconds, by default 30. It shares the
//     samples of the Profiler, for any number of scrapers at once, see
//     [profiler.Profiler.Profile]. If the Profiler does not measure the CPU, it is a profile
//     of its own. The answer is 500 while another CPU profile runs.
//   - wall?seconds=N: the wall time of spans, if the Profiler measures it.
//   - heap, allocs, goroutine, mutex, block, threadcreate, goroutineleak (Go 1.27) and all
//     other profiles of runtime/pprof, with debug=N and gc=1 (heap) as in net/http/pprof.
//   - delta_heap, delta_mutex, delta_block: the events since the last request, or since the
//     process began. Each event is in one answer only, so two scrapers need two Handlers. HEAD
//     is refused.
//   - trace?seconds=N: an execution trace.
//
// Work under spanprof.Handler and spanprof.Do has the label span_name in all of them, heap, mutex
// and block included. Only the texts of debug=1 and debug=2 show two functions of
// internal/marker in the stacks instead.
//
// mutex and block are empty until the program calls runtime.SetMutexProfileFraction and
// runtime.SetBlockProfileRate. Invalid parameters are answered with 400.
//
// Shut the Profiler down before the http.Server: that ends the running profiles, and their
// clients get the samples so far.
//
// # Access
//
// Every client of the port has access, as with net/http/pprof: there is no authentication, and
// no check of the Host header, because scrapers send pod addresses. Profiles contain function
// names and labels. Serve them on a port of their own, or behind the program's
// authentication.
//
// Pages of other sites cannot request delta_*, which changes state, or gc and goroutineleak,
// which cost a garbage collection: the answer is 403.
// Browsers name the site in Sec-Fetch-Site, or old ones in Origin. Over plain HTTP to a host
// other than localhost they do not, and all such requests of browsers are refused.
package profhttp
