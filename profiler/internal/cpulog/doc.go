// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpulog reads the CPU samples of the process from the runtime, at any rate,
// and makes profiles of them, without runtime/pprof. Each sample has its time, by which
// profiles are cut while the runtime goes on.
//
// It knows nothing of windows, exporters or spans, nor who may profile the CPU.
package cpulog

// For developers: log.go has the life of a Log and its cuts, read.go the reader, which
// rouse.go wakes for a cut by the signals of poke_linux.go; records.go knows the form of the runtime's records,
// part.go counts, tally.go leaves our own signals out, clock.go turns the runtime's time
// into that of the day, and profile.go makes a profile of what was counted.
