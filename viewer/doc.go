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
//	./waits              the exact waits of a span, or of the spans of a name, as pprof
//	./timeline           the value of a query over time, for programs
//	./source             lines of source code; see [WithSourceCode]
//	./log                what was received, refused and dropped
//	./flush              POST: closes the open window (see WithFlush)
//
// Programs without a server of their own use a loopback address:
//
//	err := viewer.ListenAndServe(ctx, "localhost:6060", viewer.Handler(s))
//
// The pages of Pyroscope 0.x had these addresses: links to spans for such a server
// work here too.
//
// # Privacy
//
// Profiles reveal much about a program. The handler answers requests to loopback names only,
// unless [WithAllowedHosts] lists others. It checks the name, not the address: listen on a
// loopback address as well, or put an authenticating proxy in front. Links from other
// sites get the page, whatever their format; their images, frames and scripts are
// refused. The pages load nothing from outside. Only a POST to flush changes anything, and
// it must come from the pages or from a program.
//
// # Parameters
//
// Of the list of spans:
//
//	name=GET /search     only spans of this very name, as JSON has it
//	filter=search        only those with this in their name, status or attributes, in
//	                     either case
//	attribute=http.route=/cart
//	                     only those with this attribute; also !=, and =~ and !~ for
//	                     expressions; may be given four times
//	error=true           only those that ended in an error
//	min=100ms, max=2s    only spans of this duration
//	trace=ID             only those of this trace
//	service=shop         only those of this service
//	from=, until=        only those that ran in this time
//	below=ID             only those below the span with this id
//	flat=true            each span by itself; by default a list has requests, if every
//	                     span has a profile of its own
//	by=http.route        also the sums by the values of this attribute
//	order=newest         or slowest, or cpu
//	limit=200            the length of the list, 10,000 at most
//	since=GENERATION     as JSON: {unchanged: true} while the list of this generation is right
//
// The sums by name have the conditions of the list, and
//
//	sort=cpu             or self, waits, wall, spans, errors, p50, p95, max, name
//	dir=desc             or asc
//	limit=500            further names are counted
//
// Without conditions they count all spans that ended in the time of the profiles held. With
// conditions they count the spans held. Times are from span records: measured is their number.
//
// Of a flame graph, with a time that may be open at both ends:
//
//	query=shop.cpu{profile_id="ID"}
//	from=now-1h          also unix seconds, ms or ns, or RFC 3339
//	until=1700000000
//	function=main.work   also the callers and the callees of this function
//	labels=ids           as pprof: keep the ids of the samples
//
// A window that overlaps the time counts fully. A comparison has leftQuery,
// leftFrom, leftUntil, rightQuery, rightFrom and rightUntil; where one is missing, query,
// from or until counts. Left is the baseline.
//
// # FlameQL
//
//	query    = [ name ] [ "{" [ matcher { "," matcher } [ "," ] ] "}" ]
//	name     = [ app ] "." type | type | app
//	type     = "cpu" | "wall" | "host" | "goroutine"
//	         | "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects"
//	         | "mutex_count" | "mutex_duration" | "block_count" | "block_duration"
//	matcher  = label ( "=" | "!=" | "=~" | "!~" ) value
//	value    = a Go string literal, in double quotes or backquotes
//
// The default type is cpu. The type follows the last dot, for names of applications may
// have dots. In a store with several services the application selects a service. Any other name
// selects all, with a note. Expressions are RE2 and match a whole value. A label that a sample
// lacks is "".
//
// Samples have the labels profile_id, span_id, trace_id, span_name and those that
// the program sets with [runtime/pprof.Do]. After a span's end, samples of its goroutines have
// ended_span_id. The process has service_name and service_version. A label with the prefix
// "span." is an attribute of the sample's span, its children, or the nearest span above with it.
// The label in_span_name, by = alone, selects spans of that name and all below them.
//
// The type host is CPU time measured by an eBPF agent of the machine, where package
// ebpfbridge/receiver feeds the store. It is the same time as cpu: never add the two.
// The label span_attribution has the witness of a sample's span, or ambiguous.
//
// A query has at most 16 KiB and 32 conditions. At most two may be expressions on ids and
// attributes, of about 100 characters; lists such as profile_id=~"a|b" do not count.
//
//	shop.cpu{profile_id="00f067aa0ba902b7"}       one span
//	.cpu{span_id="00f067aa0ba902b7",trace_id="TRACE"}
//	                                              one span; without a profile here,
//	                                              the local roots of its trace
//	shop.cpu{span_name="GET /search"}             all spans of a name
//	{span_name=~"GET .*", tenant!="test"}         by labels of one's own
//	.cpu{span.db.query.text="SELECT ?"}           the spans with this attribute
//	.cpu{in_span_name="GET /search"}              all spans of a name and all below them
//	.inuse_space                                  the heap of the process
//	.cpu{service_version="1.4.2"}                 one version
//	.wall{profile_id="00f067aa0ba902b7"}          where one span spent its time
//	.cpu{ended_span_id="00f067aa0ba902b7"}        what it caused after its end
//
// # Formats
//
// format=html is the page, and the default of most pages. An error in the query has status 400
// in every format.
//
// format=frozen is one HTML file of at most 5 MiB that opens without a server: a span, a comparison
// or the list. The list has the flame graphs of its 20 slowest spans.
//
// format=text is for terminals, in about 60 lines of 100 columns. In host profiles [k] marks the
// kernel's functions, [n] native code.
//
//	curl 'localhost:6060/debug/spanprof/?format=text&order=slowest'
//
// format=folded is a line for each stack, as flamegraph.pl, inferno and speedscope read it. Kernel
// frames end in _[k]. A comparison has two values, left and right. The list of spans has the CPU
// time of its spans.
//
// format=pprof is the profile with its labels. Ids are removed unless the query lists ids, or
// labels=ids is set; then it has at most 50,000 samples. A span's profile has the span's
// duration. A comparison is the right side less the left one, scaled as by -diff_base.
//
//	go tool pprof 'http://localhost:6060/debug/spanprof/profile?query=.cpu{span_name="GET%20/search"}'
//
// In the pprof of ./waits a sample is one wait, with the values count and wait. Its labels are
// state, child_span_name, goroutine, ended_by_span_name, ended_by_span_id and ended_at.
//
//	go tool pprof -tagroot=ended_by_span_name 'http://localhost:6060/debug/spanprof/waits?query=.cpu{span_name="GET%20/checkout"}'
//
// # JSON
//
// format=json is compressed if the client accepts gzip. Field names end in the unit where they
// have one; a missing number is 0. The list is {generation, service, services, status, stats,
// spans, groups, process, empty}. process has the queries for the whole process. A span's query
// selects its CPU profile, or else its wall or host profile. Its coverage is whole, partial, none
// or evicted. Errors are {error, column}.
//
// The answer to a query has its total and unit. A span has its attributes and the spans of its
// trace. kinds are the other profiles of the same work. baseline is what to compare with, and empty
// the reason for an empty profile. The states of its answer are {state, ns, errorNs, source}, the
// longest first. They include the spans below in this process that ended no later. Exact times come first;
// sampled has the sampled values beside them. Fewer than five samples divide nothing: few names
// their states. Of wall time, errorNs is the standard error, and unwatchedNs the time without a
// look at goroutines.
//
// flame is the graph: texts, a table, and arrays by node. The first node is the root. function is
// the index of its function, or -1; parent is the distance to its parent, so that node i has the
// parent i - parent[i]. functions has arrays by function: name, file, package, type and source are
// indices of texts; lines has three numbers for each line, the line, its self and its total. A
// source is a URL with {line} in it. The time of runtime.asyncPreempt is the time of its caller. A
// comparison is {left, right, leftName, rightName, flame, diff}; its flame has leftSelf and
// leftTotal too.
//
// # Limits
//
// A span with less CPU time than passes between two samples, 10 ms by default, mostly has
// none. The 20 ms between two windows, 200 ms on macOS, do not count as a gap. Shares of few
// samples are rough: n samples are precise to about 1/√n. Each wall time has a standard error,
// from the times between looks at the goroutines. It assumes that spans begin independently of
// each other. Time without a look, as while the process was stopped, is stated apart.
//
// # For developers
//
// This package is HTTP alone. handler.go checks a request. pages.go is the route table, and opens
// the one view. params.go parses, response.go writes, frozen.go collects a page for one file.
// internal/answer makes the answers, a file for each, with its JSON and its text.
// internal/static is the page: app.js chooses what to show, and only dom.js puts in names, as
// text. Commands share the module's internal/flameql, internal/flame and internal/termtext.
package viewer
