// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// heirCount counts heirs, and the nested ones among them.
//
// Goroutines that work for one span on two processors pass its cache line to and fro. By
// BenchmarkChildren, on a busy machine of two cores, a call of Do took 111 ns in the first
// quartile of runs and 78 ns without any count. A child took 605 ns at least, and 618
// without; its runs differ by more than 100 ns, as it waits for the SDK's lock on its parent
// too. Each way to spread the count that was weighed costs more elsewhere. Counters for each
// processor need a pointer in the block, which fills its size class to the byte. Blocks
// for each goroutine are an allocation each, and SetName has to find them. Counting in the
// children pins what they hold by each goroutine that outlives them. Not to count says for
// ever that a goroutine which a descendant left behind works for the span.
type heirCount struct {
	// n has the number of all in its lower half and that of the nested ones in its upper
	// half, with closed above.
	n atomic.Int64
}

const (
	oneHeir       = 1
	oneNestedHeir = 1<<32 | oneHeir
	// closed says that the nested ones have been given up.
	closed = 1 << 62
)

// any reports whether there are heirs.
func (c *heirCount) any() bool { return int32(c.n.Load()) > 0 }

func (c *heirCount) anyNested() bool { return c.n.Load()&^closed>>32 > 0 }

func (c *heirCount) closed() bool { return c.n.Load()&closed != 0 }

func (c *heirCount) enter() { c.n.Add(oneHeir) }

func (c *heirCount) leave() { c.n.Add(-oneHeir) }

// enterNested counts a nested heir, or just an heir where those have been given up, and
// reports which.
func (c *heirCount) enterNested() bool {
	for {
		n := c.n.Load()
		if n&closed != 0 {
			c.enter()
			return false
		}
		if c.n.CompareAndSwap(n, n+oneNestedHeir) {
			return true
		}
	}
}

// leaveNested takes a nested heir off. It reports false where that has been given up.
func (c *heirCount) leaveNested() bool {
	for {
		n := c.n.Load()
		if n&closed != 0 {
			return false
		}
		if c.n.CompareAndSwap(n, n-oneNestedHeir) {
			return true
		}
	}
}

// giveUpNested takes all nested heirs off, and reports whether there were any.
func (c *heirCount) giveUpNested() bool {
	for {
		n := c.n.Load()
		if n&closed != 0 {
			return false
		}
		nested := n >> 32
		if c.n.CompareAndSwap(n, (n&(1<<32-1)-nested)|closed) {
			return nested > 0
		}
	}
}

// enterHeir counts an heir and returns the labels for it.
func (b *labelBlock) enterHeir() *labelMap {
	b.origin.heirs.enter()
	return &b.current().maps[heirMap]
}

// inheritFrom makes s an heir of b, an origin.
func (s *spanState) inheritFrom(b *labelBlock) {
	s.carrier, s.heir = b, true
	if b.goroutine == goruntime.Goroutine() {
		s.nested = b.heirs.enterNested()
	} else {
		b.heirs.enter()
	}
}

// leaveHeir undoes inheritFrom, and reports false where another span has done so
// by giving s up. When the labels are off the goroutine, call heirLeaves once more.
func (s *spanState) leaveHeir() bool {
	b := s.carrier
	if b.heirs.any() {
		b.heirLeaves()
	}
	if s.nested {
		return b.heirs.leaveNested()
	}
	b.heirs.leave()
	return true
}

// leaveHeir undoes enterHeir. b is an origin. When the labels are off the goroutine, call
// heirLeaves once more.
func (b *labelBlock) leaveHeir() {
	b.heirLeaves()
	b.heirs.leave()
}

// heirLeaves keeps the time where the span of b, an origin, has ended: until now the labels
// held on the goroutine of the heir and on those that it started. It is called twice: before the
// heir is taken off the count, so that there is no moment without either, and when the
// labels are off the goroutine, since samples that are taken with them on it are the span's.
func (b *labelBlock) heirLeaves() {
	if b.hasEnded() {
		b.leftAt(goruntime.Nanotime())
	}
}

// leftAt notes that an heir has left. Of two that leave at once the later time stays.
func (b *labelBlock) leftAt(now int64) {
	for {
		left := b.left.Load()
		if now <= left || b.left.CompareAndSwap(left, now) {
			return
		}
	}
}
