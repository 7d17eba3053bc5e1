// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exporter holds what travels from the profiler to a destination, the
// [Profile], and the contract of a destination, the [Exporter].
//
// A Profile is one window of one kind: ten seconds of CPU samples, say, with
// the goroutine labels that tie them to spans. The store, which feeds the
// viewer, is an Exporter like any other; [NewMulti] sends every profile to
// several of them, so that a slow one does not hold the others up.
//
// To write an Exporter, take the Pprof form where the destination speaks pprof
// (nothing is decoded on the way) and the Parsed form where it does not. Where
// the destination is across a network, write a [Destination] instead, which makes
// one attempt and knows no retry, and put a [Queue] in front of it: that bounds
// the profiles in bytes and age, repeats what fails, keeps them in a directory if
// it is told to, counts what is lost and ends in time.
//
// To test what makes profiles, take the Recorder of package exportertest, which
// keeps them.
//
// # Metrics
//
// A Queue has these, with its name as the attribute otel.component.type and, with
// a number, as otel.component.name: pyroscope/0 is the first one that is named
// pyroscope.
//
//	spanprof.exporter.profile.exported    profiles taken by the destination
//	spanprof.exporter.profile.dropped     profiles lost, by reason: full, expired,
//	                                      rejected, failing, unreadable, unsent
//	spanprof.exporter.profile.retries     attempts after the first
//	spanprof.exporter.profile.duplicates  profiles that may have arrived twice
//	spanprof.exporter.queue.size          bytes that wait
//	spanprof.exporter.last_success        Unix time of the last delivery
//
// [QueueStats] says the same to the program.
package exporter
