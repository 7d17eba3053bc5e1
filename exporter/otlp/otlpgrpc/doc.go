// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpgrpc sends profiles by OTLP/gRPC, to an OpenTelemetry Collector or
// any backend that takes OTLP's profiles signal. It is a module of its own, so
// that users of OTLP/HTTP, the package
// [github.com/spanprof/spanprof/exporter/otlp], need no gRPC: use that one unless
// the backend speaks gRPC alone.
//
// The options and messages are the same as in package otlp. [exporter.Queue] describes retries,
// bounds and counts.
//
// # Environment
//
// The variables are the same as for OTLP/HTTP, except two: OTEL_EXPORTER_OTLP_ENDPOINT
// and OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT are the server, localhost:4317 by
// default. Like otlp.WithEndpointURL, they have a URL, with a path that is ignored, or
// a target of gRPC (unix:///run/collector.sock). http and unix mean a connection without
// TLS, and so does OTEL_EXPORTER_OTLP_INSECURE=true for another target, like
// collector:4317. gRPC reads HTTPS_PROXY and NO_PROXY.
//
// # Answers
//
// CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE and DATA_LOSS
// are tried again, and RESOURCE_EXHAUSTED if the server states when. If it
// states that the message is too large, the profile is halved. Without either it is tried
// five times, and so is INTERNAL or UNKNOWN: OTLP/HTTP does the same after a 500. Any other
// code drops the profile as rejected, and is reported with the server's text. A partial
// success counts as rejected: it is never repeated.
//
// A failed connection is tried again before the next call, not after gRPC's own pause.
// Otherwise a call fails with the error of minutes ago.
package otlpgrpc
