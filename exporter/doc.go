// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exporter holds what travels from the profiler to a destination, the
// [Profile], the contract of a destination, the [Exporter], and the lanes on which
// Profiles travel.
//
// A Profile is one window of one kind: ten seconds of CPU samples, say, with
// the goroutine labels that tie them to spans. The store, which feeds the
// viewer, is an Exporter like any other.
//
// # Lanes
//
// Each destination has one lane: bounded, with one worker and one account,
// [LaneStatus], which says of every profile what became of it. A profile waits in no
// other queue. What makes lanes:
//
//   - [NewMulti] is the fan-out: it gives each Exporter a lane.
//   - profiler.New takes an Exporter as before, and has a fan-out of its own in front
//     of it. The lanes of a Multi are used as they are.
//   - inprocess.Start fans out to the store and to each inprocess.WithExporter.
//   - A [Queue] is a lane that sends again what fails: a fan-out gives it no other.
//     The exporters of this project that send over a network are Queues.
//   - A [Destination] is what a Queue sends to. It has one method, and may have two
//     more; it does not retry.
//
// The policies differ. What a Queue has not encoded yet it holds like an Exporter's
// lane, within the same bound.
//
//	                an Exporter's lane               a Queue
//	holds           profiles as they were made       their pprof bytes, or files
//	bound           48 profiles, 32 MiB              WithMaxBytes, WithMaxAge;
//	                                                 32 MiB of them in memory
//	                                                 beside files
//	full            drops the oldest                 drops the oldest
//	fails           failed, and reported             sent again, or rejected
//	at a time       one                              one, up to four to catch up
//	after Shutdown  unsent                           unsent, or kept in files
//
// # To write an exporter
//
// Take the Pprof form where the destination speaks pprof and the Parsed form where it
// does not. Where the destination is across a network, write a Destination and put a
// Queue in front of it: that bounds the profiles in bytes and age, repeats what fails,
// keeps them in a directory if it is told to, counts what is lost and ends in time.
// Nothing parses a profile on its way to a Queue, unless the Destination cuts it.
//
// To test what makes profiles, take the Recorder of package exportertest, which
// keeps them.
//
// # The way of a profile
//
//  1. a window ends, and its pieces are added up    profiler/stream.go
//  2. the loop hands it to the fan-out              profiler/loop.go
//  3. which pushes it to every lane                 exporter/multi.go
//  4. it waits as it was made                       exporter/lane.go
//  5. an Exporter's worker calls Export; the end    exporter/lanework.go
//  6. a Queue's cuts, encodes and spills it         exporter/laneadmit.go, spill.go
//  7. it waits as bytes or in a file                exporter/backlog.go
//  8. it is sent, when that is due                  exporter/lanework.go, retry.go
//  9. the account and the metrics say what became   exporter/lanestatus.go,
//     of it, and so do Status, page and log         lanemetrics.go
//  10. Shutdown sends, keeps or counts what is left  exporter/laneshutdown.go
//
// # Metrics
//
// A lane has these, with its name as the attribute otel.component.type and, with
// a number, as otel.component.name: pyroscope/0 is the first one that is named
// pyroscope. They say what LaneStatus says.
//
//	spanprof.exporter.profile.exported    profiles taken by the destination
//	spanprof.exporter.profile.empty       profiles without samples, not sent
//	spanprof.exporter.profile.failed      profiles whose Export returned an error
//	spanprof.exporter.profile.dropped     profiles lost, by reason: full, expired,
//	                                      rejected, failing, unreadable, unsent
//	spanprof.exporter.profile.retries     attempts after the first
//	spanprof.exporter.profile.duplicates  profiles that may have arrived twice
//	spanprof.exporter.queue.length        profiles that wait
//	spanprof.exporter.queue.size          bytes that wait
//	spanprof.exporter.last_success        Unix time of the last delivery
//
// The profiler counts what it measures (spanprof.profiler.window.measured), and nothing
// of what becomes of it.
package exporter
