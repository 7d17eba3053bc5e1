// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import "github.com/spanprof/spanprof/internal/goruntime"

// enterHeir counts an heir and returns the labels for it.
func (b *labelBlock) enterHeir() *labelMap {
	b.origin.heirs.Add(1)
	return &b.current().maps[heirMap]
}

// leaveHeir takes an heir off the count. It keeps the time where the span of b, an
// origin, has ended: until then the labels held on the goroutines that the heir started.
func (b *labelBlock) leaveHeir() {
	if b.hasEnded() {
		b.left.Store(goruntime.Nanotime())
	}
	b.heirs.Add(-1)
}

// enterNested counts an heir among the nested ones, and reports whether they are still
// to be counted.
func (b *labelBlock) enterNested() bool {
	for {
		n := b.nested.Load()
		if n == nestedGivenUp || b.nested.CompareAndSwap(n, n+1) {
			return n != nestedGivenUp
		}
	}
}

// leaveNested undoes enterNested. It reports whether the heir has not been given up.
func (b *labelBlock) leaveNested() bool {
	for {
		n := b.nested.Load()
		if n == nestedGivenUp || b.nested.CompareAndSwap(n, n-1) {
			return n != nestedGivenUp
		}
	}
}

// giveUpNested gives the nested heirs up, and reports whether there were any.
func (b *labelBlock) giveUpNested() bool {
	n := b.nested.Swap(nestedGivenUp)
	if n <= 0 {
		return false
	}
	b.heirs.Add(-n)
	return true
}
