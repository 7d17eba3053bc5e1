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
//	defer func() {
//		// Not the context of a signal, which has ended by then.
//		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
//		defer cancel()
//		_ = p.Shutdown(ctx) // sends what waits, and ends exp
//	}()
//
// The signal is in development: OTLP calls it v1development, and a Collector
// takes profiles only with --feature-gates=service.profilesSupport. [exporter.Queue]
// describes retries, bounds and counts.
//
// # Messages
//
// A profile becomes one request. OTLP has one sample type in a profile, so pprof's heap
// profile becomes four profiles, which share their stacks. The labels trace_id and
// span_id become a Link, OTLP's relation of a sample to its span; other labels become
// attributes of the sample. A CPU profile has samples/count alone: backends derive the time from the period.
// Bytes that are not UTF-8 become U+FFFD. The label ended_span_id is only sent with
// WithSpanIDAttributes.
//
// # Pyroscope
//
// Pyroscope takes OTLP directly. [WithPyroscope] fits profiles to it. What each way keeps,
// by a server v2.2.1:
//
//	                       push                    OTLP, WithPyroscope       OTLP
//	spans, traces          yes                     yes                       yes
//	attributes             24 tags                 24 tags                   all; refused from about 20 on
//	labels of samples      24, cut to 2,048 bytes  24, cut to 2,048 bytes    refused beyond that
//	sizes of heap objects  no                      no                        a series of each
//	CPU time               process_cpu             process_cpu               process_cpu
//	goroutines             goroutine               goroutine                 goroutine
//	heap                   memory, period space    memory, period memory     space
//	mutex, block           mutex, block            mutex, block              contentions, added up
//	wall time              wall                    wall                      wall
//
// A tag and a label need one of 24 places; exporter/pyroscope describes the rules. By OTLP,
// the server names a profile after its period. So memory:inuse_space:bytes:space:bytes of a
// push is memory:inuse_space:bytes:memory:bytes. A dashboard that names the whole type needs
// both, and so it is for mutex and block (period contentions). FlameQL of this module's
// pages takes both. A tag that a push adds by WithTags is an attribute of the Resource here.
//
// # Environment
//
// The variables have the names of otlptracehttp, with PROFILES in place of TRACES. Variables for
// profiles replace variables for all signals, and options replace both. An unusable value is
// reported through otel.Handle and counts as unset.
//
//   - OTEL_EXPORTER_OTLP_ENDPOINT: the base URL, https://localhost:4318 by
//     default, to which /v1development/profiles is appended.
//   - OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT: the whole URL.
//   - OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_PROFILES_HEADERS:
//     key1=value1,key2=value2, with values in percent-encoding.
//   - OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT: of one
//     attempt, in milliseconds, 10000 by default.
//   - OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION:
//     gzip, the default for profiles, or none.
//   - OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_PROFILES_CERTIFICATE:
//     the file with the certificates to trust.
//   - OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY,
//     and the same with PROFILES: files, for mutual TLS.
//   - OTEL_EXPORTER_OTLP_INSECURE, OTEL_EXPORTER_OTLP_PROFILES_INSECURE: true
//     for http to the default endpoint; the scheme of an endpoint takes precedence.
//   - HTTPS_PROXY, HTTP_PROXY, NO_PROXY: as net/http reads them.
//
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES belong to the Resource of the profiles.
//
// # Sizes
//
// A profile of more than 16,000 samples or nearly 2 MB is halved until it fits. The times of
// parts differ by milliseconds. Each part counts in the account. This is what
// Pyroscope takes at once by default (-distributor.ingestion-burst-size-mb), and a
// gRPC server takes 4 MiB by default. Pyroscope makes a profile of each
// type of sample: the four types of a heap profile share the 2 MB. Parts are halved
// again after an answer of 413. A profile without samples is not sent.
//
// # Answers
//
// 408, 429, 502, 503 and 504 are tried again, and so is a connection that fails. A 500 is
// tried again if it is about the server's state: its body names Unavailable, or it is a
// google.rpc.Status with a code that OTLP lists as retryable. Any other 5xx is tried five
// times. OTLP's specification does not repeat a 500, but Pyroscope answers it while it
// starts. Any other status drops the profile as rejected, and is reported with the server's
// text. A partial success
// counts as rejected: it is never repeated. A status of success with a
// body that is not OTLP's, like a login page, counts as rejected too. If the body does not
// arrive within a second, the status decides. Credentials that the server repeats are
// removed from reports.
//
// Pyroscope may answer 429, its rate limit, after it has stored some types of samples of a
// profile. They count twice there until it compacts, and Duplicates of exporter.Status does
// not include that.
package otlp
