// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package file writes profiles to a directory, one file for each window and
// kind, for machines that no server reaches and for later comparisons.
//
//	exp, err := file.New("/var/lib/shop/profiles")
//	p, err := profiler.New(exp, profiler.WithResource(res))
//
// The files have names that sort by time:
//
//	20261121T130405.123456789Z-shop-cpu.pprof.gz
//
// that is the beginning of the window in UTC, the service and the kind. Any
// pprof tool reads them, many at once too:
//
//	go tool pprof -http=: /var/lib/shop/profiles/*-cpu.pprof.gz
//	go tool pprof -tagfocus=span_id=^0123456789abcdef /var/lib/shop/profiles/20261121T13*-cpu.pprof.gz
//
// (Without the ^, pprof takes an id that begins with a digit for a number.)
//
// A file is there as a whole or not at all. Only its owner can read it: profiles
// carry the names of spans. The oldest files are removed, those of earlier runs
// too, when the directory has more bytes or older windows than the options allow;
// what is not named like a profile is left alone. On a full disk the oldest make room
// for the newest, and no more of them than it needs; where that does not help, one in 16 writes
// tries it again. A directory belongs to one process at a time, which the file
// spanprof.lock in it says.
package file
