// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package file writes profiles to a directory, one file for each window and kind. It is for
// machines without a server and for later comparisons.
//
//	exp, err := file.New("/var/lib/shop/profiles", 0, 0) // at most 1 GiB and a day
//	p, err := profiler.New(exp, profiler.WithResource(res))
//
// The files have names that sort by time:
//
//	20261121T130405.123456789Z-shop-cpu.pprof.gz
//
// This is the beginning of the window in UTC, the service and the kind. Any
// pprof tool reads them, many at once too:
//
//	go tool pprof -http=: /var/lib/shop/profiles/*-cpu.pprof.gz
//	go tool pprof -tagfocus=span_id=^0123456789abcdef /var/lib/shop/profiles/20261121T13*-cpu.pprof.gz
//
// (Without the ^, pprof reads an id that begins with a digit as a number.)
//
// A file is written as a whole or not at all. Only its owner can read it, because profiles
// contain the names of spans. The oldest files are removed, also from earlier runs,
// when the bounds of [New] are reached. Files with other names stay. On a full disk a profile
// is dropped and counted as failed: bound the directory below the room that there is. A directory belongs to one process at a time: the file
// spanprof.lock in it is locked.
package file
