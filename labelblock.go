// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"strings"
	"sync/atomic"
	"unsafe" // for Offsetof

	"github.com/spanprof/spanprof/internal/goruntime"
)

// hexIDsLen is the room for a span id and a trace id in hex digits.
const hexIDsLen = 16 + 32

type (
	label    = goruntime.Label
	labelMap = goruntime.LabelSet
)

// labelBlock holds one label set of a span in one allocation: the maps that
// goroutines point to and all that they point to. It is apart from the span,
// so that a goroutine which outlives the span pins no more than its labels.
//
// All but the atomic fields is constant once a goroutine carries the block.
type labelBlock struct {
	// maps have equal labels at different addresses. Goroutines carry
	// maps[ownMap] for the span itself, and maps[heirMap] for a descendant
	// that inherits the labels: a local root that ends before such a
	// descendant sees by it that the labels are still in use.
	maps [2]labelMap
	// inline is the labels' memory where the user has none of his own: four
	// labels and the mark behind them.
	inline [5]label
	// hex are the ids' digits. copiedFrom relies on origin being behind them.
	hex [hexIDsLen]byte

	// origin is the block that the span started with; it differs from the
	// block itself where SetName made a new one. The fields below but for own
	// are used in the origin only.
	origin *labelBlock
	// latest is the block that the last SetName made.
	latest atomic.Pointer[labelBlock]
	// prev is what the goroutine carried when the span started.
	prev atomic.Pointer[labelMap]
	// root is the origin of the span's local root, nil where that is the block itself.
	root atomic.Pointer[labelBlock]
	// ended is when the span ended, on the clock of goruntime.Nanotime: 0 before
	// that, so that nobody puts the labels back on a goroutine afterwards.
	ended atomic.Int64
	// left is when the last heir left after that.
	left atomic.Int64
	// heirs counts open spans and calls of Do whose goroutines carry maps[heirMap], and
	// apart the nested ones: those spans among them that started on the goroutine of the
	// block's span.
	heirs heirCount
	// goroutine is where the span started, as goruntime.Goroutine tells it.
	goroutine uint32
	depth     uint16 // number of blocks under this one, at most maxDepth
	own       uint8  // number of labels that are ours
	flags     uint8
}

// The flags of a block.
const (
	// byProcessor says that a SpanProcessor made the block.
	byProcessor = 1 << iota
	// outermost says that no other span of its local root was on the goroutine when
	// the span started: it is the local root, or a descendant of it on a worker.
	outermost
)

// The slots of a label set of a block.
const (
	ownMap = iota
	heirMap
	// copiedMap is neither of the two: pprof.WithLabels keeps the list of its
	// context where it has nothing to add to it.
	copiedMap
)

// maxDepth bounds the chain of blocks on a goroutine: a program may forget to end
// the spans that it starts on one, and must not pay for it with memory: some 80 kB. Of
// spans that nest deeper, the outer ones do not get their labels back.
const maxDepth = 256

// current returns the block of the span's present name.
func (b *labelBlock) current() *labelBlock {
	if latest := b.origin.latest.Load(); latest != nil {
		return latest
	}
	return b.origin
}

// localRoot returns the origin of the span's local root.
func (b *labelBlock) localRoot() *labelBlock {
	if root := b.root.Load(); root != nil {
		return root
	}
	return b
}

// name returns the span name among the labels, "" if there is none.
func (b *labelBlock) name() string {
	if l := b.maps[ownMap].Find(LabelSpanName); l != nil {
		return l.Value
	}
	return ""
}

// hasEnded reports whether the span of an origin has ended.
func (b *labelBlock) hasEnded() bool { return b.ended.Load() != 0 }

// endNow notes that the span of an origin has ended, unless that was noted before.
func (b *labelBlock) endNow() { b.ended.CompareAndSwap(0, goruntime.Nanotime()) }

// slot tells which of the block's maps m is.
func (b *labelBlock) slot(m *labelMap) int {
	switch m {
	case &b.maps[ownMap]:
		return ownMap
	case &b.maps[heirMap]:
		return heirMap
	default:
		return copiedMap
	}
}

// blockOf returns the block that m belongs to, nil if m was not made here.
func blockOf(m *labelMap) *labelBlock { return goruntime.Marked[labelBlock](m) }

// idKeys are the keys of the labels with ids.
type idKeys struct{ span, trace string }

var (
	publicIDKeys = idKeys{LabelSpanID, LabelTraceID}
	// blockIDKeys are at addresses of their own, as is a mark's key.
	blockIDKeys = idKeys{strings.Clone(LabelSpanID), strings.Clone(LabelTraceID)}
)

// copiedFrom returns the origin whose ids are in m, a copy of its labels with others beside
// them, as pprof.Do makes it without the mark. It is nil where m has no ids of a block.
// Labels that are not copied from a block have other keys, though with the same text, or
// values that do not lie next to each other.
func copiedFrom(m *labelMap) *labelBlock {
	span, trace := m.Find(LabelSpanID), m.Find(LabelTraceID)
	if span == nil || trace == nil || !goruntime.SameText(span.Key, blockIDKeys.span) || !goruntime.SameText(trace.Key, blockIDKeys.trace) ||
		len(span.Value) != 16 || len(trace.Value) != hexIDsLen-16 || !goruntime.Adjacent(span.Value, trace.Value) {
		return nil
	}
	return goruntime.TextOwner[labelBlock](span.Value, unsafe.Offsetof(labelBlock{}.hex), unsafe.Offsetof(labelBlock{}.origin))
}

// ids returns the hex digits of an origin.
func (b *labelBlock) ids() string { return goruntime.Text(b.hex[:]) }

// sameValue reports whether two sets have the same value of a label, or neither has
// one.
func sameValue(m, other *labelMap, key string) bool {
	a, b := m.Find(key), other.Find(key)
	if a == nil || b == nil {
		return a == b
	}
	return a.Value == b.Value
}
