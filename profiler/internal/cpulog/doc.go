// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpulog reads the CPU samples of the process from the runtime, at any rate,
// and makes profiles of them, without runtime/pprof.
//
// It knows nothing of windows, exporters or spans, nor who may profile the CPU.
package cpulog

// For developers: log.go reads and counts; profile.go makes a profile of what
// was counted.
