// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows what a [store.Store] holds: the recent spans with their
// wall and CPU time, the flame graph of each, and how it differs from the
// other spans of its name. Pages, JSON, plain text and pprof come from one
// [http.Handler]:
//
//	mux.Handle("/debug/spanprof/", viewer.Handler(s))
//
// # Mounting
//
// The handler goes by the last segment of a request's path, so that it works
// under any prefix, with or without [http.StripPrefix], and at "/". The pages
// are relative to where they lie: mount a path that ends in a slash.
//
//	./                   the recent spans; with query=, a flame graph
//	./comparison         two flame graphs and a table of their differences
//	./comparison-diff    one flame graph, coloured by its differences
//	./profile            the same as ./ with a query and format=pprof
//	./timeline           what a query selects over time, for programs
//	./log                what was received, refused and dropped
//	./flush              POST: closes the open window (see WithFlush)
//
// A program without a server of its own has one for this alone, on a loopback
// address:
//
//	err := viewer.ListenAndServe(ctx, "localhost:6060", viewer.Handler(s))
//
// These are the addresses of Pyroscope's pages before its version 1.15, so that
// links to spans that were made for such a server lead here as well.
//
// # Privacy
//
// Profiles tell much about a program. Requests are answered only under a
// loopback name, unless [WithAllowedHosts] lists others; the name is checked,
// not the address, so listen on a loopback address as well, or put something
// in front that knows who may look. Links from other sites get the page,
// whatever format they ask for; their images, frames and scripts are refused. The pages load nothing from outside, and
// nothing but a POST to flush, from the pages themselves or from a program,
// changes anything.
//
// # Parameters
//
// Of the list of spans:
//
//	name=GET /search     only spans of this very name, as JSON has it
//	filter=search        only those whose name holds this, in either case
//	error=true           only those that ended in an error
//	min=100ms, max=2s    only those that took as long
//	trace=ID             only those of this trace
//	service=shop         only those of this service
//	from=, until=        only those that ran in this time
//	order=newest         or slowest, or cpu
//	limit=200            the length of the list; the page shows 1,000 at most
//	since=GENERATION     as JSON: {unchanged: true} if the list with this
//	                     generation is still right
//
// Of a flame graph, where both ends of the time may be left out:
//
//	query=shop.cpu{profile_id="ID"}
//	from=now-1h          also unix seconds, ms or ns, or RFC 3339
//	until=1700000000
//	function=main.work   also the callers and the callees of this function
//	labels=ids           as pprof: keep the ids of the samples
//
// Profiles are whole windows: all that overlap the time are looked at. Of a
// comparison, leftQuery, leftFrom, leftUntil, rightQuery, rightFrom and
// rightUntil are the sides; what one of them lacks is taken from query, from
// and until. Left is the baseline.
//
// # FlameQL
//
//	query    = [ name ] [ "{" [ matcher { "," matcher } [ "," ] ] "}" ]
//	name     = [ app ] "." type | type | app
//	type     = "cpu" | "wall" | "host" | "goroutines"
//	         | "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects"
//	         | "mutex_count" | "mutex_duration" | "block_count" | "block_duration"
//	matcher  = label ( "=" | "!=" | "=~" | "!~" ) value
//	value    = a Go string literal, in double quotes or backquotes
//
// The type is cpu where none is given. Names of applications may hold dots:
// what follows the last one is the type. In a store with profiles of several
// services the application selects the one of its name. Any other name makes no
// difference, and is answered with a note where no span belongs to it.
// Expressions are RE2 and match a whole value; a label that a sample lacks is
// "". Labels of samples are profile_id, span_id, trace_id, span_name and those
// of the program's own [runtime/pprof.Do]; service_name and service_version are
// those of the process. Host is the CPU time that a profiler of the machine saw,
// where one feeds the store. A query has 16 KiB and 32 conditions at most; but for
// lists such as profile_id=~"a|b", two of them may be expressions on ids, of about
// 100 characters, as each is tried on all ids.
//
//	shop.cpu{profile_id="00f067aa0ba902b7"}       one span
//	shop.cpu{span_name="GET /search"}             all spans of a name
//	{span_name=~"GET .*", tenant!="test"}         by labels of one's own
//	.inuse_space                                  the heap of the process
//	.cpu{service_version="1.4.2"}                 one version
//	.wall{profile_id="00f067aa0ba902b7"}          where one span spent its time
//
// # Formats
//
// format=html, the default, is the page. An error in the query has status 400
// in every format, and the page shows it.
//
// format=json is compressed if the client accepts gzip. The list of spans is
// {generation, service, services, status, stats, spans, groups, process}, where
// services are there if they are several, groups are the 500 names with most CPU
// time, groupsOmitted counts the others and unnamed the spans without a name,
// which are in no group; process has the queries for the whole process. Where the
// samples of a group carry another span_name than its name, label is that, and
// labelNames how many names share it. A span's query is that of its CPU, or of
// its wall time where it has samples of nothing else. Its coverage says whether
// CPU was profiled while it ran: whole, partial, none, or evicted, where profiles
// of that time made room for newer ones, and samples of it may have gone with them.
// A query is answered with
//
//	query, title                            in its canonical form, in words
//	sampleType, measure, unit               what was measured; measure: in words
//	total, samples                          how much; of heap, samples are sites
//	expectedSamples                         of wall time: in a span of this length
//	profileIds, windows, from, until        in how much
//	span                                    if the query has a profile_id
//	trace                                   the spans of the same trace
//	withChildren {query, meaning, spans}    the span and those below it, where
//	                                        these have profiles of their own
//	baseline {query, meaning, ...}          the query without the ids
//	kinds [{type, measure, query, ...}]     the profiles of the same work
//	empty, waiting                          why there is nothing, in words, and
//	                                        whether samples may be on their way
//	note                                    what to know about the query
//	functions [{name, file, line, self, total}]
//	executables [{file, buildId, self, total}]
//	focus {function, callers, callees}      if function= asks for it
//	flame {name, self, total, inlined, children}
//
// where functions are merged by name, a self that is missing is 0, the 1,000
// functions with most self come first, children have the biggest total first, and
// frames beyond the 1,400 widest are summed as "(other)". A baseline has the name
// of the spans and their number, spans, where these are known, and a label if its
// samples carry another span_name than the span's name: a cut one, "other", or
// one from before the span was renamed. It is marked as empty where it has no
// sample either. There is none where samples have several names, as those of a
// trace may. A comparison is {left, right, diff}: two such answers, where each
// frame of the right one has in left what it takes on the left, and for each
// function its values on both sides and delta, its share of the right total less
// its share of the left one: those that take more on the right come first. Errors
// are {error, column}. A status has running false, and says in its message why,
// once profiling has ended or where it never began.
//
// format=text is for terminals: the functions that take most themselves and
// the widest frames, in about 60 lines of 100 columns, where queries alone may be
// longer. Names of spans lose their end, those of functions their beginning.
//
//	curl 'localhost:6060/debug/spanprof/?format=text&order=slowest'
//
// format=folded is a line for each stack, as flamegraph.pl, inferno and
// speedscope read it; of a comparison with two values, the left one first. The
// list of spans has in it the CPU of the spans listed.
//
// format=pprof is the profile with its labels, but without the ids unless a
// condition lists some, as profile_id="a" and trace_id=~"a|b" do, or labels=ids
// asks for them; with ids, it has 50,000 samples at most. It is for
//
//	go tool pprof 'http://localhost:6060/debug/spanprof/profile?query=.cpu{span_name="GET%20/search"}'
//
// That of a span lasts as long as the span. Of the list of spans it is the CPU of
// the spans listed; of a comparison it is the right side less the left one,
// scaled to the same total, as -diff_base would have it.
//
// # Limits
//
// A span shorter than the time between two samples, ten milliseconds of CPU as
// a rule, mostly has none; its page says so and leads to all spans of its name.
// Where CPU was not profiled, or the profiles are gone, it says that instead.
// The 20 ms between two windows, 200 ms on macOS, do not count as a gap.
// Shares of few samples are rough: with n of them, to about 1/√n.
//
// # For developers
//
// handler.go routes, security.go and heavy.go say who has to go or to wait,
// listenandserve.go is a server for it; query.go, flameql.go, flameqlparser.go,
// spanquery.go and timeparam.go read what is asked for, services.go whose it is;
// answer.go, baseline.go, children.go, labelnames.go, comparison.go, spanlist.go,
// timeline.go and log.go build what is answered, breakdown.go, tree.go, flame.go,
// functiontotals.go, executables.go, focus.go and diff.go the numbers in it,
// text.go, columns.go, folded.go and pprof.go its other forms.
//
// The page is in static: app.js decides what to show; spans.js, profile.js,
// compare.js and logview.js are the pages; flame.js and flamepaint.js are the
// flame graph, strip.js the time line; keep.js keeps elements over updates. What
// a program named reaches the page through dom.js alone, as text.
package viewer
