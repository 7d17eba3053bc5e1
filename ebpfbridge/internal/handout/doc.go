// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package handout hands what an agent measured of a host to the programs it measured,
// over a unix socket: each program gets its own samples and nothing of any other.
//
// # The protocol
//
// A program connects, and from then on reads. The server reads nothing: what a program
// sends closes its connection. The stream begins with the line "spanprof host 1\n".
// Frames follow: a header of 24 bytes, big-endian, and the payload.
//
//	uint32  kind     1: a message, 2: why the server closes the connection, as text
//	uint32  length   of the payload, in bytes
//	uint64  agent    which connection of an agent the message came over
//	uint64  lost     samples of the program that were lost since it connected
//
// A message is an OTLP ExportProfilesServiceRequest. Its dictionary has what the
// program's own samples refer to, and no more. A message of no bytes tells lost alone.
//
// # Whose connection it is
//
// The kernel says which process connected (SO_PEERCRED, and SO_PEERPIDFD since Linux
// 6.5). Its start time, user and pidfd must still be the same when a message comes and
// before it is written: a process that gets the id of one that ended gets nothing that
// was meant for the other. Samples from before the process started are left out.
//
// A process that hands its open connection to another one shares its samples.
package handout
