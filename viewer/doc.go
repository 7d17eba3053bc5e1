// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows the spans and profiles of a [store.Source], such as a
// [store.Store]: the recent spans with their wall and CPU time, the flame graph of each,
// and how it differs from the other spans of its name. One [http.Handler] serves pages,
// JSON, plain text and pprof:
//
//	mux.Handle("/debug/spanprof/", viewer.Handler(s))
//
// # Mounting
//
// Only the last segment of a request's path counts, so that the handler works under any
// prefix, with or without [http.StripPrefix], and at "/". The pages' links are relative:
// mount a path that ends in a slash.
//
//	./                   the recent spans; with query=, a flame graph
//	./names              the sums of spans by name: CPU time, waits, p50, p95, spread
//	./comparison         two flame graphs and a table of their differences
//	./comparison-diff    one flame graph, coloured by its differences
//	./profile            the same as ./ with a query and format=pprof
//	./waits              the exact waits of a span, or of the spans of a name, as pprof
//	./timeline           what a query selects over time, and comparisons that are asked
//	                     for often, for programs
//	./source             lines of source code; see [WithSourceCode]
//	./find               what a text is, with text=: ids, as a line of a log has them, a
//	                     service, a name, an attribute, a part of an error, a query
//	./log                what was received, refused and dropped
//	./flush              POST: closes the open window (see WithFlush)
//
// For programs without a server of their own there is one, on a loopback address:
//
//	err := viewer.ListenAndServe(ctx, "localhost:6060", viewer.Handler(s))
//
// The pages of Pyroscope 0.x had these addresses: links to spans for such a server
// work here too.
//
// # Privacy
//
// Profiles tell much about a program. The handler answers requests to loopback names only,
// unless [WithAllowedHosts] lists others. It checks the name, not the address: listen on a
// loopback address as well, or put an authenticating proxy in front. Links from other
// sites get the page, whatever format they ask for; their images, frames and scripts are
// refused. The pages load nothing from outside. Only a POST to flush changes anything, and
// it must come from the pages or from a program.
//
// # Parameters
//
// Of the list of spans:
//
//	name=GET /search     only spans of this very name, as JSON has it
//	filter=search        only those whose name, status or attributes hold this, in
//	                     either case
//	attribute=http.route=/cart
//	                     only those with this attribute; also !=, and =~ and !~ for
//	                     expressions; may be given four times
//	error=true           only those that ended in an error
//	min=100ms, max=2s    only those that took as long
//	trace=ID             only those of this trace
//	service=shop         only those of this service
//	from=, until=        only those that ran in this time
//	below=ID             only those below the span with this id
//	flat=true            each span by itself: where every span has a profile of its
//	                     own, the list otherwise has one span for each request
//	by=http.route        also the sums by the values of this attribute
//	order=newest         or slowest, or cpu
//	limit=200            the length of the list, 10,000 at most; the page shows 1,000
//	since=GENERATION     as JSON: {unchanged: true} as long as the list of
//	                     this generation is right
//
// The sums by name have the conditions of the list, and
//
//	sort=cpu             or self, waits, wall, spans, errors, p50, p95, max, cpup50,
//	                     cpup95, cpumax, name
//	dir=desc             or asc
//	limit=500            what is left out is counted
//
// Without conditions they count all spans that ended in the time of the profiles held, and
// each row's cpuNs is what its query selects; with some, the spans that are held and meet
// them. Times are those of the spans whose records are held: measured is their number.
//
// Of a flame graph, whose time may be open at both ends:
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
//	type     = "cpu" | "wall" | "host" | "goroutines"
//	         | "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects"
//	         | "mutex_count" | "mutex_duration" | "block_count" | "block_duration"
//	matcher  = label ( "=" | "!=" | "=~" | "!~" ) value
//	value    = a Go string literal, in double quotes or backquotes
//
// The default type is cpu. The type follows the last dot, for names of applications may
// have dots. In a store with profiles of several services the application selects the
// service of that name. Any other name selects all, and the answer has a note if no span
// belongs to it. Expressions are RE2 and match a whole value; a label that a sample lacks
// is "". Samples have the labels profile_id, span_id, trace_id, span_name and those that
// the program sets with [runtime/pprof.Do]; ended_span_id is on what goroutines of a span
// did after its end, beside the labels that held before the span; service_name and
// service_version are those of the process. A label that begins with "span." is an
// attribute of the sample's span, as the store has it: own, a child's or, if it has none,
// that of the nearest span above it in this process. The label in_span_name, by = alone, is
// about samples of spans of that name and of all spans below them. The type host is CPU time measured by an eBPF agent of the machine, where
// package ebpfbridge/receiver feeds the store: the same time as cpu has, never to be added
// to it. The label span_attribution has the witness of a sample's span, or ambiguous. A
// query has at most 16 KiB and 32 conditions. At most two of these may be expressions on
// ids and attributes, of about 100 characters, as each is tried on all; lists such as
// profile_id=~"a|b" do not count.
//
//	shop.cpu{profile_id="00f067aa0ba902b7"}       one span
//	.cpu{span_id="00f067aa0ba902b7",trace_id="TRACE"}
//	                                              one span; if it has no profile here,
//	                                              the local roots of its trace
//	shop.cpu{span_name="GET /search"}             all spans of a name
//	{span_name=~"GET .*", tenant!="test"}         by labels of one's own
//	.cpu{span.db.query.text="SELECT ?"}           the spans with this attribute
//	.cpu{in_span_name="GET /search"}              all spans of a name and those below them
//	.inuse_space                                  the heap of the process
//	.cpu{service_version="1.4.2"}                 one version
//	.wall{profile_id="00f067aa0ba902b7"}          where one span spent its time
//	.cpu{ended_span_id="00f067aa0ba902b7"}        what it caused after its end
//
// # Formats
//
// format=html, the default, is the page. An error in the query has status 400 in every
// format, and the page shows it.
//
// format=json is compressed if the client accepts gzip. The list of spans is {generation,
// service, services, status, stats, spans, groups, process}: services only if there are
// several; a span's attributes are {key, value, child}, and below is the number of spans
// below it, whose CPU time cpuInclusiveNs has and whose attributes are among its own;
// attributeKeys are the keys that spans have, and by has the sums by the one that by=
// names, with a note where they are times of whole requests, which count for each value
// that they have, or where there are none; groups are the 500 names with most CPU time,
// groupsOmitted counts the others, whose CPU time is groupsOmittedCpuNs, and unnamed the spans
// without a name, which are in no group; process has the queries for
// the whole process. If the samples of a group carry another span_name than its name, label
// is that one, and labelNames the number of names that share it. A span's query selects its
// CPU profile or, if it has no samples there, its wall or its host profile. In status,
// selfCheck is {checks, findings: [{id, severity, seen, do}]} where the program checks itself,
// as package inprocess does: how many checks were made, and those that found something, with
// the severity wrong or note, in a sentence what is seen and in another what to do. A span's coverage
// says whether CPU was profiled while it ran: whole, partial, none, or evicted if profiles
// of that time, maybe with samples of the span, made room for newer ones. Its afterEnd,
// {cpuNs, cpuSamples, query}, is the CPU time of goroutines that it had started, after its
// end, in the profiles held; no other number of the span has it. In the answer to a query,
// the cpuTimes of a span are when its CPU samples were taken, where that is known: at most
// 200 entries [ns after its start, CPU time in ns, samples], in order, of samples that are
// nearer to each other than a 200th of its duration one for all. An entry stands for CPU
// time before its moment. Their CPU time is less than cpuNs where not all profiles have
// times or are held. Where an execution trace has told where the time of a span went, it has
// hasExactTimes, and in the answer to a query exactTimes: see exectrace.SpanTimes. The answer to a query
// by span_name sums up those of the slowest such spans in exactByName {name, spans, durationNs, states
// [{state, durationNs}], blocked [{state, span, durationNs, count, query}]}. The page's tab Time (view=time in
// its address) shows both. Its earlier, {started, pid, service, version}, is the earlier process that
// has left it in a directory (see [store.WithDirectory]), and is missing for this process. Its loss, if any, says what the store had no room for: samples or
// summary. The answer to a query is
//
//	query, title                            in its canonical form, in words
//	sampleType, measure, unit               what was measured; measure: in words
//	total, samples                          how much; of heap, samples are sites
//	expectedSamples                         of wall time: in a span of this length
//	errorNs                                 of wall time: the standard error of total
//	unwatchedNs                             of wall time: what total may lack besides
//	waits [{class, ns, errorNs}]            of wall time: what it was spent on
//	answer {sentence, states, few, ...}     of a span: where its time went
//	profileIds, windows, from, until        in how much
//	span                                    if the query has a profile_id
//	trace                                   the spans of the same trace
//	withChildren {query, meaning, spans}    the span and those below it, where
//	                                        these have profiles of their own
//	childrenBaseline {query, meaning, ...}  what withChildren may be compared with
//	baseline {query, meaning, ...}          the query without the ids
//	kinds [{type, measure, query, ...}]     the profiles of the same work
//	empty, waiting                          why there is nothing, in words, and
//	                                        whether samples may be on their way
//	note                                    what to know about the query
//	attribution {witnesses, ambiguous, ...} of host profiles: by what samples are
//	                                        known to be their spans'
//	frameTypes [{type, self}]               of host profiles
//	cutAt, cutTotal                         the number of frames at which the runtime
//	                                        cut stacks, and how much is in these
//	executables [{file, buildId, self, total}]
//	flame {texts, functions, function, parent, self, total, ...}
//	sourceText                              whether the page source has lines of code
//
// The states of an answer are {state, ns, errorNs, source}, the longest first: on a CPU, ready
// without a CPU, the classes of waits, not on a CPU, not sampled. They include the spans below in
// this process that ended no later. Exact times of an execution trace come first; sampled has the
// sampled values beside them. No state is longer than the span. Fewer than five samples divide
// nothing: few names their states. The class of a wait is one of running (or ready to run),
// mutex, channel, select, cond or waitgroup, network, file or syscall, sleep, GC, cgo and unknown,
// by the functions at the leaf. Frames of host profiles have the type go, kernel, native or other.
// Functions are merged by name and type. A baseline has the name of the spans and their
// number, spans, if these are known, and a label if its samples carry another span_name
// than the span's name: a cut one, "other", or one from before the span was renamed. It is
// marked as empty if it has no sample either. Samples with several names, as those of a
// trace, have no baseline. A comparison is {left, right, leftName, rightName, flame, diff}: two such
// answers with what they are in words, ofSpans where it is known of how many, and profiledNs
// where it is known for how long profiles of their services and versions went on. Its
// flame has the nodes of both; diff has for each function
// its values on both sides and delta, its share of the right total less its share of the
// left one, those that take more on the right first. Errors are {error, column}. Once
// profiling has ended, or if it never began, the status has running false and a message
// that says why. Where an eBPF agent feeds the store of a whole machine, it has host true.
//
// The log is {status, stats, kinds, events}: kinds are the windows held, summed by kind, service,
// version and process, those of an earlier process with earlier as a span has it; events are
// what happened to windows, the newest first. Its stats, which the list of spans has too, are
// about this process alone; where there is a directory, directory has what is on disk and
// what is held of earlier processes.
//
// The graph of an answer is flame: texts, a table, and arrays by node, of which the first is the
// root. function is the index of its function, or -1; parent is the distance to its parent, so
// that node i has the parent i - parent[i]; self and total are its values, and a comparison has
// leftSelf and leftTotal. inlined lists nodes. omitted counts the nodes beyond 50,000, which are
// only in the totals of their parents. functions has arrays by function: name, file, package,
// type and source are indices of texts; line, self and total are numbers; lines has three numbers
// for each line, the line, its self and its total. A source is a URL with {line} in it. The time
// of runtime.asyncPreempt is the time of its caller.
//
// Parameters that no page knows are named in the note of an answer.
//
// format=text is for terminals: the functions with most self and the widest frames, in
// about 60 lines of 100 columns. The line "when" of a span has 60 parts of its duration: #
// where it was on a CPU for half of the part or longer, - for less, and a dot where no
// sample was taken; "after" is what it caused after its end. In host profiles [k] marks the kernel's, [n] native code.
// Only queries may be longer. Names of spans lose their end, those of functions their
// beginning.
//
//	curl 'localhost:6060/debug/spanprof/?format=text&order=slowest'
//
// format=folded is a line for each stack, as flamegraph.pl, inferno and speedscope read it,
// with _[k] after the kernel's frames; of a comparison with two values, left and right. Of
// the list of spans it is the CPU time of the spans listed.
//
// format=pprof is the profile with its labels, without the ids unless a condition lists
// some, as profile_id="a" and trace_id=~"a|b" do, or labels=ids asks for them. With ids it
// has at most 50,000 samples. It is for
//
//	go tool pprof 'http://localhost:6060/debug/spanprof/profile?query=.cpu{span_name="GET%20/search"}'
//
// The profile of a span has the span's duration. Of the list of spans it is the CPU time
// of the spans listed; of a comparison it is the right side less the left one, scaled to
// the same total, as -diff_base makes it.
//
// The page waits answers the exact waits that a span's tab Time lists: each is a sample with
// its stack, the values count and wait (in nanoseconds), and the labels of its span,
// state, child_span_name, goroutine and, of what ended it, ended_by_span_name,
// ended_by_span_id (a profile_id of its own) and the place ended_at. Of a query by
// span_name alone they are those of the spans that exactByName sums up, by all their
// goroutines. Where a span lists the longest of its waits, a comment counts the others.
//
//	go tool pprof -tagroot=ended_by_span_name 'http://localhost:6060/debug/spanprof/waits?query=.cpu{span_name="GET%20/checkout"}'
//
// # Limits
//
// A span with less CPU time than passes between two samples, 10 ms by default, mostly has
// none: its page says so and links to all spans of its name. If CPU was not profiled, or
// the profiles are gone, it says that instead. The 20 ms between two windows, 200 ms on
// macOS, do not count as a gap. Shares of few samples are rough: with n of them, to about
// 1/√n. Wall time has a standard error for each figure. Half of the time between two looks
// at the goroutines counts for what each of them has found: a span may begin and end
// anywhere between two looks, which makes some 0.4 of the time between them for one
// goroutine that stays in it, up to 0.7 where looks were late; as many times that as there
// are goroutines at a time; and for the sum of many spans, and what is found now and then,
// √n times the time between looks. That takes them to begin and end independently of each
// other: of spans that do so together, the sum may be off by more. Profiles
// of package profiler carry the times between looks, as a busy machine or a quota of CPU
// makes some of them long. While the process was stopped nobody looked, nor in a window without a
// look: a span's wall time may lack such a time that is in the span, and the sum of a name
// what began in it. Both are stated apart.
//
// # For developers
//
// This package is HTTP alone: handler.go says who may ask and routes, reading.go opens the
// one view of a request for pages.go and listpages.go, params.go and timeparam.go read the
// address, response.go writes.
// internal/answer makes the answers, a file for each, with its JSON and its text;
// reader.go asks the view. internal/static is the page: app.js chooses what to show, and
// only dom.js puts in what a program named, as text. Shared with commands are the module's
// internal/flameql, internal/flame and internal/termtext.
package viewer
