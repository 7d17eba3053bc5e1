// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package record keeps the profiles of running processes in files.
//
// # What is kept
//
// The bytes are those that the server sent. Each run of a process has a
// directory of its own, in the layout of package exporter/file:
//
//	DIR/10.0.0.7_1777/20261121T130405Z/recording.json
//	DIR/10.0.0.7_1777/20261121T130405Z/20261121T130405.123456789Z-shop-cpu.pprof.gz
//
// recording.json is a [source.Recording]: the address, the resource, the build
// id, and which kinds count since the process began.
//
// Heap, mutex and block profiles of net/http/pprof are such. They are kept as
// they are, once at the beginning and once at the end of each window, and whoever
// reads them subtracts one from the next, as package source does for all
// subcommands. The alternative, to have the server subtract (seconds=N), holds a
// request open for each kind, loses what happens between two of them, and
// subtracts live memory too, of which a comparison wants the amount. A file that
// is lost makes one window longer here, and loses nothing.
//
// CPU is measured without a pause, one window after the other.
//
// # Runs
//
// A process was restarted where a profile has another build id, or the vDSO at
// another address, which Linux chooses anew for each process, or where something
// that is counted since the process began has become less. An address behind
// which several processes answer, as that of a load balancer, has a directory for
// each.
//
// # For developers
//
// record.go is the face, target.go asks one process window after window,
// trouble.go says what fails once and counts it, run.go writes, bound.go removes.
package record
