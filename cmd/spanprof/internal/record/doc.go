// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package record keeps the profiles of running processes in files.
//
// # What is kept
//
// The bytes are unchanged. Each run of a process has its own directory, in the layout of
// package exporter/file:
//
//	DIR/10.0.0.7_1777/20261121T130405Z/recording.json
//	DIR/10.0.0.7_1777/20261121T130405Z/20261121T130405.123456789Z-shop-cpu.pprof.gz
//
// recording.json is a [source.Recording]: the address, the resource, the build
// id, and which kinds count since the process began.
//
// Heap, mutex and block profiles of net/http/pprof count since the process began. They are
// kept unchanged, at the beginning and at the end of each window. A reader subtracts one
// from the next: package source does so for all subcommands. With seconds=N the server would
// subtract. That needs an open request for each kind, and loses what happens between two of
// them. It also subtracts live memory, and a comparison needs the amount. Here, a lost file
// makes one window longer and loses nothing.
//
// CPU is measured without a pause, one window after the other.
//
// # Gaps
//
// Each kind has its own requests: a slow one delays no other, and not the end. A request is
// given up half a window after its time. A gap begins at the end of the last good profile
// of its kind. A profile that counts since the process began has a gap only at a restart.
//
// # Runs
//
// A process was restarted if a profile has another build id or another address of the
// vDSO: Linux chooses one for each process. It was also restarted if a count since the
// process began has become less. An address with several processes, like a load
// balancer's, has a directory for each.
//
// # For developers
//
// record.go is the face, target.go requests windows of one process, trouble.go reports and
// counts failures, run.go writes, bound.go removes.
package record
