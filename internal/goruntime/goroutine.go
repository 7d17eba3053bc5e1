// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Goroutine returns a number that tells the calling goroutine from others that run at the same
// time: it stays the same, and the number of a goroutine that has ended may be given to
// another one.
//
// Assembly reads it where there is some for the processor; elsewhere, and with the build tag
// purego, it is read from a stack trace, which is slow. Two goroutines whose records in the
// runtime are 64 GiB apart may have the same.
func Goroutine() uint32 { return uint32(goroutine() >> unusedBits) }

// unusedBits are 0 in the address of a record of the runtime, which is aligned.
const unusedBits = 4
