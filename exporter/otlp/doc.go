// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends profiles by OTLP/HTTP, to an OpenTelemetry Collector or any
// backend that takes OTLP's profiles signal, like Pyroscope.
//
//	exp, err := otlp.New()
//	if err != nil {
//		return err
//	}
//	p, err := profiler.New(exp)
//	if err != nil {
//		return err
//	}
//	if err := p.Start(); err != nil {
//		return err
//	}
//	defer func() {
//		// Not the context of a signal, which has ended by then.
//		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
//		defer cancel()
//		_ = p.Shutdown(ctx) // sends what waits, and ends exp
//	}()
//
// The signal is in development: OTLP calls it v1development, and a Collector
// takes profiles only with --feature-gates=service.profilesSupport. What becomes
// of a profile, and which choices there are, says the package
// [github.com/spanprof/spanprof/exporter/otlp/convert]; how long a profile waits
// for a destination that does not answer, [exporter.Queue].
//
// # Environment
//
// The variables are those that otlptracehttp knows, with PROFILES in the place
// of TRACES. Those of profiles go before those of all signals, and options
// before both. A value that cannot be used is reported through otel.Handle and
// counts as not set.
//
//   - OTEL_EXPORTER_OTLP_ENDPOINT: the base URL, https://localhost:4318 by
//     default, to which /v1development/profiles is appended.
//   - OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT: the whole URL.
//   - OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_PROFILES_HEADERS:
//     key1=value1,key2=value2, with values in percent-encoding.
//   - OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT: of one
//     attempt, in milliseconds, 10000 by default.
//   - OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION:
//     gzip, which for profiles is the default, or none.
//   - OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_PROFILES_CERTIFICATE:
//     the file with the certificates to trust.
//   - OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY,
//     and the same with PROFILES: files, for mutual TLS.
//   - OTEL_EXPORTER_OTLP_INSECURE, OTEL_EXPORTER_OTLP_PROFILES_INSECURE: true
//     for http to the default endpoint; the scheme of an endpoint goes before.
//   - HTTPS_PROXY, HTTP_PROXY, NO_PROXY: as net/http reads them.
//
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are the Resource's, which comes
// with the profiles.
//
// # Sizes
//
// A profile of more than 16,000 samples or nearly 2 MB is sent in several requests, with
// times one millisecond apart, each of which counts in the account by itself. That is what
// Pyroscope takes at once by its defaults (-distributor.ingestion-burst-size-mb), and a
// gRPC server takes 4 MiB unless it is told otherwise. Pyroscope makes a profile of each
// type of sample: the four types of a heap profile share the 2 MB.
// A profile that is split is reported through otel.Handle. A profile without
// samples, as that of an idle window, is not sent: LaneStatus.Empty counts those.
//
// # Answers
//
// Pyroscope may answer 429, its rate limit, after it has taken some types of samples of a
// profile. Those count twice there until it compacts, and LaneStatus.Duplicates does not
// say so. By gRPC it answers ResourceExhausted without RetryInfo, which drops the profile:
// for Pyroscope, exporter/pyroscope is the better choice, or HTTP.
//
// 429, 502, 503 and 504 are tried again, as is a connection that fails; every
// other status drops the profile at once, which the queue counts as rejected and
// reports with the server's text. OTLP says so of 500 too. A partial success
// counts as rejected: it is never repeated. So does a status of success with a
// body that is not OTLP's, like a page to log in. One whose body does not come
// within a second is a success. What the server repeats of the credentials of a
// request is left out of what is reported.
package otlp
