// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

// MaxSeen is how many attributes of a span or an event, and how many events of a span, are
// looked at: whoever ends a span waits for it. Of more, it is the first half and the last: a
// span starts with those that tell what it is about, and ends with the exception that ended it
// and the id of its profile. By the SDK's default limits a span has half as many at most.
const MaxSeen = 256

// Next returns the index after i of those that are looked at in a list of n, n or more
// after the last.
func Next(i, n int) int {
	if i++; i == MaxSeen/2 && n > MaxSeen {
		return n - MaxSeen/2
	}
	return i
}

// Unseen returns how many of a list of n are not looked at.
func Unseen(n int) int { return max(0, n-MaxSeen) }
