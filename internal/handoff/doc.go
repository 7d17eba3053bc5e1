// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package handoff keeps a producer of profiles free of what becomes of them: a
// [Queue] takes each one at once and gives it to its [Sink] from a goroutine of
// its own.
//
// The package is generic because package exporter, whose profiles travel here,
// builds on it too.
package handoff
