// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Goroutine returns a number that tells the calling goroutine from others that run at the same
// time: it stays the same, and the number of a goroutine that has ended is given to
// another one. On processors for which this is not implemented it is 0 for all.
//
// Two goroutines whose records in the runtime are 64 GiB apart may have the same.
func Goroutine() uint32 { return uint32(goroutine() >> 4) }
