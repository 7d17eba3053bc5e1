// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpgrpc sends profiles by OTLP/gRPC, to an OpenTelemetry Collector or
// any backend that takes OTLP's profiles signal. It is a module of its own, so
// that users of OTLP/HTTP, the package
// [github.com/spanprof/spanprof/exporter/otlp], need no gRPC: use that one unless
// the backend speaks gRPC alone.
//
// What becomes of a profile says the package
// [github.com/spanprof/spanprof/exporter/otlp/convert]; how long it waits for a
// destination that does not answer, [exporter.Queue].
//
// # Environment
//
// The variables are those of OTLP/HTTP, but for two: OTEL_EXPORTER_OTLP_ENDPOINT
// and OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT name the server, localhost:4317 by
// default, by a URL of which the path means nothing, or by a target as gRPC has
// it (unix:///run/collector.sock). http and unix mean a connection without TLS,
// and so does OTEL_EXPORTER_OTLP_INSECURE=true for another target, like
// collector:4317.
// HTTPS_PROXY and NO_PROXY hold as gRPC reads them.
//
// # Sizes
//
// A large profile is sent in several calls, and an empty one in none, as by
// OTLP/HTTP: see there.
//
// # Answers
//
// CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE and DATA_LOSS
// are tried again, and RESOURCE_EXHAUSTED where the server says when. Every other
// code drops the profile at once, which the queue counts as rejected and reports
// with the server's text. A partial success counts as rejected: it is never
// repeated.
//
// A connection that has failed is tried again before the next call, not after gRPC's own
// pause, so that a call does not fail with the error of minutes ago.
package otlpgrpc
