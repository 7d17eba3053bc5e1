// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

// Goroutine returns a number that distinguishes the calling goroutine from others that run
// at the same time. It stays the same. The number of a goroutine that has ended may be
// reused for another one.
//
// Assembly reads it on supported processors; elsewhere, and with the build tag purego, it
// is read from a stack trace, which is slow. Two goroutines may have the same number if
// their records in the runtime are 64 GiB apart.
func Goroutine() uint32 { return uint32(goroutine() >> unusedBits) }

// unusedBits are 0 in the address of a goroutine's record, which is aligned.
const unusedBits = 4
