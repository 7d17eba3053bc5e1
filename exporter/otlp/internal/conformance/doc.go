// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance checks the messages that tests see against the rules of
// OTLP's profiles signal (v1development), as its protobuf definition states
// them, and against the stricter habits of spanprof: no duplicate and no unused
// elements, and keys inline.
//
// It shares no code with the package convert, whose work it checks.
package conformance
