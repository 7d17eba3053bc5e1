// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance checks the messages that tests see against OTLP's profiles
// signal (v1development), by the rules in its protobuf definition. It also checks
// spanprof's stricter habits: no duplicate and no unused elements, and keys inline.
//
// It shares no code with the package convert, because it checks convert's work.
package conformance
