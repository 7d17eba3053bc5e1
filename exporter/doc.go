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
// (nothing is decoded on the way) and the Parsed form where it does not.
package exporter
