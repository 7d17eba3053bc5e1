// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exporter has the [Profile], which the profiler makes, and the contract of a
// destination, the [Exporter]. A [Queue] repeats, bounds and counts.
//
// A Profile is one window of one kind: for example ten seconds of CPU samples, with
// the goroutine labels that join them with spans. The store, which feeds the
// viewer, is an Exporter like any other.
//
// # Queues
//
// Each destination has one queue: bounded, with one sender and one account, its
// [Status]. These make queues:
//
//   - [NewMulti] gives each Exporter a queue.
//   - profiler.New puts a Multi in front of its Exporter. The queues of a Multi are used
//     as they are.
//   - inprocess.Start gives profiles to the store and to each inprocess.WithExporter.
//   - [NewQueue] makes a queue that repeats failed attempts at a [Destination]. The
//     exporters of this project across a network are such Queues.
//
// The differences:
//
//	                an Exporter's queue            a Queue
//	holds           profiles as they were made     their pprof forms
//	bound           48 profiles, 32 MiB            QueueConfig
//	full            drops the oldest               drops the oldest
//	fails           counted as failed              sent again, or rejected
//	too large       -                              halved
//
// # To write an exporter
//
// For a destination across a network write a Destination and put a Queue in front of it.
// Use Profile.Pprof if it takes pprof, and Profile.Parsed otherwise.
//
// # Metrics
//
// A queue has these metrics in the global MeterProvider. Its name is the attribute
// otel.component.type. The attribute otel.component.name, for example pyroscope/0, differs
// for two queues of one name. The values are the same as in Status.
//
//	spanprof.exporter.profile.exported    delivered profiles
//	spanprof.exporter.profile.dropped     lost profiles, by reason
//	spanprof.exporter.profile.retries     attempts after the first
//	spanprof.exporter.profile.duplicates  profiles that may have arrived twice
//	spanprof.exporter.queue.length        profiles that wait or are being sent
//
// multi.go gives a profile to each queue, queue.go holds it, and sender.go encodes and sends
// it. status.go and metrics.go have the account.
package exporter
