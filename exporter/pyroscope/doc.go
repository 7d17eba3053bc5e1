// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscope sends profiles to Grafana Pyroscope, to Grafana Cloud
// Profiles, or to a compatible receiver like Alloy's pyroscope.receive_http.
//
//	exp, err := pyroscope.New("http://pyroscope:4040")
//	p, err := profiler.New(exp, profiler.WithResource(res))
//
// The exporter is a queue: [exporter.Queue] describes bounds, retries and counts.
//
// # Names
//
// The application is service.name of the Resource, so that the link from a span
// in Grafana finds its profile. Other attributes become tags, with underscores
// for dots: deployment.environment.name, k8s.pod.name and others. Attributes that help no
// search are left out (telemetry.*, process.*, os.*). So are attributes that would make
// a series of every start: service.instance.id, host.id, container.id, k8s.pod.uid. If two
// attributes get the same name the first is sent. service_name and names that begin with
// two underscores belong to the server. [WithTags] adds more.
//
// A series has at most 30 labels on the server. Six are its own. Tags and the labels of
// samples have 24 together: one more would make it refuse the whole profile. [WithTags]
// takes precedence, then span_name and the other labels of samples by their names, then
// attributes by theirs. Room that labels of samples have used stays reserved, so that a
// series does not change from window to window. Values are cut to 2,048 bytes, and
// characters that the server refuses in a name become underscores. The first of each
// is reported through otel.Handle. Dots in names of samples' labels become underscores
// too: clients that do not request names in UTF-8 would not see them.
//
// Profile types have the names of pyroscope-go v1.5.0, so that dashboards keep working:
// process_cpu, memory, mutex, block, goroutine. Until its version 1.4.3, goroutine was
// goroutines. Wall time is wall. A program should not push with both: every sample would
// count twice.
//
// # Spans
//
// Pyroscope finds the samples of a span by the labels span_id and profile_id, and of a
// trace by trace_id. It cannot be queried for a profile_id that is not 16 hex digits. If profile_id and span_id of a sample differ, Pyroscope keeps
// one of them. Every other label becomes a series label there. ended_span_id is left out: it
// would make a series of each span.
//
// # Wire
//
// Profiles go to /ingest, like pyroscope-go's: every server back to 0.x has it, and so do
// proxies and gateways. Its names have no escapes, so the characters , and } in a value
// become underscores. It answers 422 for invalid profiles and for its own failures alike;
// the text is the difference (server v2.2.1, pkg/ingester/pyroscope/ingest_handler.go).
//
// Profiles of more than 16,000 samples or nearly 2 MiB uncompressed are halved until they
// fit: a server takes this at once by default. Starts of parts differ, because
// Pyroscope takes two profiles of one series and one time for the same
// (pkg/block/section_profiles.go).
//
// # Answers
//
// After 408, 429, 502, 503, 504, or without an answer, a push is sent again. So is one after a
// 422 or 500 about the server's own state: while Pyroscope starts, the text has "code =
// Unavailable". Any other 5xx is tried five times. 413 is halved. Any other answer rejects
// the profile, also a login page of a proxy, and is reported with the server's text.
// Credentials that the server repeats are removed from reports.
//
// If the server has a profile already, the repeated push counts twice in
// queries. The server removes one when it compacts the blocks of both, about a minute
// later by default. Duplicates of [exporter.Status] counts such profiles.
package pyroscope
