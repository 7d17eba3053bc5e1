// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/goruntime"
)

type (
	label    = goruntime.Label
	labelSet = goruntime.LabelSet
)

// maxDepth bounds the blocks under one goroutine to about 75 kB, also where spans are
// never ended. Spans that nest deeper do not restore the outer ones.
const maxDepth = 256

const spanDigits = 16 // of a span id

// Values are the label values of a span.
type Values struct {
	// Span is the value of profile_id and span_id, Trace of trace_id.
	Span  [8]byte
	Trace [16]byte
	// SpanID and TraceID select the labels with ids.
	SpanID, TraceID bool
	// Name is the value of span_name; empty for no label.
	Name string
	// Start is the span's start time in nanoseconds since 1970; 0 unless TimesKept.
	Start int64
	// Processor marks the block of a SpanProcessor. A wrapper's block of the
	// same span takes its place, and Start sets Replaced.
	Processor, Replaced bool
}

// Block is the labels of one span on one goroutine, in one allocation. It is
// apart from the span: a goroutine that outlives the span pins the labels only.
//
// Fields other than the atomic ones are constant once a goroutine carries it.
// All methods are safe for concurrent use.
type Block struct {
	// set is the labels that the span starts with, inline their memory if the
	// user has no labels: four labels and the mark behind them.
	set    labelSet
	inline [5]label
	hex    [spanDigits + 32]byte

	latest atomic.Pointer[labelSet] // of the last Rename, nil before
	prev   atomic.Pointer[labelSet] // the labels on the goroutine before
	ended  atomic.Int64             // now() of End; 0 while open

	start     int64   // Values.Start
	root      [8]byte // the local root's span id; zero in a Do
	goroutine uint32
	depth     uint8 // blocks under this one
	local     bool  // of a local root
	nested    bool  // started in the context of the block under it, of the same root
	processor bool

	public *publicSpan // nil unless by the public API
}

// Start labels the calling goroutine for a span. ctx is the context that the
// span starts with, and its user labels are added. root is the block of its
// local root, nil for a local root.
func Start(ctx context.Context, root *Block, v *Values) *Block {
	b := &Block{start: v.Start, local: root == nil, processor: v.Processor}
	encodeHex(b.hex[:], v.Span[:])
	if root == nil {
		b.root = v.Span
		encodeHex(b.hex[spanDigits:], v.Trace[:])
	} else {
		b.root = root.root
		copy(b.hex[spanDigits:], root.hex[spanDigits:]) // of the same trace
	}
	own := b.appendOwn(b.inline[:0], v)
	if usesPublic {
		b.public = &publicSpan{started: ctx}
		b.setPublic(own)
		putPublic(b.public.context())
		return b
	}
	found := goruntime.GoroutineLabels()
	p := blockOf(found)
	v.Replaced = p != nil && p.processor && !b.processor && p.hex == b.hex
	if v.Replaced {
		p.endAt(now())
	}
	b.place(found, goruntime.ContextLabels(ctx), own)
	if v.Replaced {
		p.prev.Store(&b.set)
	}
	if b.local {
		goruntime.SetLabels(&b.set) // MarkRoot follows
	} else {
		put(found, &b.set)
	}
	return b
}

// Inherits reports whether a child with the labels of root needs no Start: the
// goroutine is root's own and carries exactly the labels of ctx, which are root's.
func Inherits(ctx context.Context, root *Block) bool {
	if root.public != nil || root.Ended() || root.goroutine != goruntime.Goroutine() {
		return false
	}
	found, inContext := goruntime.GoroutineLabels(), goruntime.ContextLabels(ctx)
	if of := blockOf(found); of != nil {
		return of.hex == root.hex && of == blockOf(inContext) && !of.Ended()
	}
	own := root.current() // found is perhaps a copy, of pprof.Do
	return found != nil && found == inContext && sameValue(found, own, keySpan) && sameValue(found, own, keyTrace)
}

// place puts b on top of found. Its labels are own and the user's.
func (b *Block) place(found, inContext *labelSet, own []label) {
	b.goroutine = goruntime.Goroutine()
	prev := live(found)
	if under := blockOf(prev); under != nil {
		b.nested = b.isWith(under) && under == blockOf(inContext)
		if under.depth == maxDepth-1 {
			prev = b.bound(prev)
		} else {
			b.depth = under.depth + 1
		}
	}
	if prev != nil {
		b.prev.Store(prev)
	}
	if inContext == prev {
		inContext = nil
	}
	if prev != nil && hasUserLabels(prev) || inContext != nil && hasUserLabels(inContext) {
		own = withUserLabels(own, prev, inContext)
	}
	b.set.List = b.marked(own)
}

// bound counts the blocks from prev down anew, since some may be gone. It returns
// prev, or at maxDepth the set under all blocks.
func (b *Block) bound(prev *labelSet) *labelSet {
	n, last := 0, prev
	for at := blockOf(prev); at != nil; at = at.under() {
		n++
		last = at.prev.Load()
	}
	if n < maxDepth {
		b.depth = uint8(n)
		return prev
	}
	b.nested = false
	return last
}

func (b *Block) under() *Block { return blockOf(b.prev.Load()) }

// marked returns list with the mark of b behind it. list has room for that.
func (b *Block) marked(list []label) []label {
	return append(list, goruntime.Mark(b))[:len(list)]
}

// blockOf returns the block of m, nil for a foreign set.
func blockOf(m *labelSet) *Block { return goruntime.Marked[Block](m) }

// current returns the labels with the span's present name.
func (b *Block) current() *labelSet {
	if latest := b.latest.Load(); latest != nil {
		return latest
	}
	return &b.set
}

func (b *Block) endAt(nanotime int64) { b.ended.CompareAndSwap(0, nanotime) }

// Rename replaces the span's name; an empty one removes the label. Goroutines other than the
// calling one keep the old name until their next Start or End.
func (b *Block) Rename(name string) {
	if b.public != nil {
		b.setPublic(renamed(nil, b.labels(), name))
		return
	}
	next := new(struct {
		set    labelSet
		inline [5]label
	})
	next.set.List = b.marked(renamed(next.inline[:0], b.current().List, name))
	b.latest.Store(&next.set)
	if blockOf(goruntime.GoroutineLabels()) == b {
		goruntime.SetLabels(&next.set)
	}
}

// End takes the labels off the calling goroutine and restores what held before.
// Only the first call counts.
func (b *Block) End() {
	if b.public != nil {
		b.endPublic()
		return
	}
	carried := goruntime.GoroutineLabels()
	if b.Ended() {
		// Its local root has ended, or another block took its place. A pprof.Do may
		// have put the labels back.
		put(carried, live(carried))
		return
	}
	prev := b.prev.Load()
	back := live(prev)
	here := b.goroutine == goruntime.Goroutine()
	if carried == b.current() {
		put(carried, back)
		b.endAt(now()) // samples with the labels belong to the span
	} else if !b.endCovered(carried, back, here) && here {
		Counts.Wiped.Add(1)
	}
	if back != prev {
		// Spans that follow each other must not pin a chain of ended ones.
		b.prev.Store(back)
	}
}

// endCovered is End if the goroutine carries other labels. It reports whether
// b's labels are among them or under them.
func (b *Block) endCovered(carried, back *labelSet, here bool) (found bool) {
	at, related := blockOf(carried), false
	top := at // of the blocks that are each nested in the next
	for ; at != nil && at != b; at = at.under() {
		related = related || b.isWith(at)
		if !b.local && (!at.nested || at.Ended()) { // End may have changed prev
			top = at.under()
		}
	}
	reached, time, under := at == b, now(), b.under()
	if first := under == nil || !b.isWith(under); here && (b.local || reached && first) {
		for at = top; at != nil && at != b; at = at.under() {
			if b.isWith(at) {
				at.endAt(time)
			}
		}
	}
	b.endAt(time)
	held := live(carried)
	if held != nil && held != back && blockOf(held) == nil {
		held, found = b.takeValues(held, back)
	}
	put(carried, held)
	return found || reached || b.local && related
}

// isWith reports whether another block is of the same local root and goroutine.
func (b *Block) isWith(other *Block) bool {
	return other.root == b.root && other.goroutine == b.goroutine
}

// Abandon marks the block ended without touching the calling goroutine. The
// goroutine that carries it loses the labels at its next Start or End.
func (b *Block) Abandon() { b.endAt(now()) }

// Ended reports whether the block has ended.
func (b *Block) Ended() bool { return b.ended.Load() > 0 }

// ID returns the value of span_id.
func (b *Block) ID() string { return b.ids()[:spanDigits] }

// Name returns the value of span_name, "" without that label.
func (b *Block) Name() string { return valueIn(b.labels(), keyName) }

// HasUserLabels reports whether the labels include some of the user's.
func (b *Block) HasUserLabels() bool { return slices.ContainsFunc(b.labels(), isUser) }

func (b *Block) labels() []label {
	if b.public != nil {
		return labelsIn(b.public.context())
	}
	return b.current().List
}

// ContextValue returns the labels as a context has them under goruntime.LabelsKey.
func (b *Block) ContextValue() any {
	if b.public != nil {
		return b.public.context().Value(goruntime.LabelsKey)
	}
	return goruntime.ContextValue(b.current())
}

// Do calls f with the labels of ctx, if it has any, and restores what held before.
// User labels of the goroutine stay, and its span labels if ctx has none. They hold
// until f returns, even if their span ends. A span that f leaves open keeps its own.
func Do(ctx context.Context, f func(context.Context)) {
	switch {
	case ctx.Value(goruntime.LabelsKey) == nil:
	case usesPublic:
		putPublic(ctx)
		defer putPublic(context.Background())
	default:
		defer enter(goruntime.ContextLabels(ctx)).leave()
	}
	f(ctx)
}

// enter puts a block with the given labels on the calling goroutine. The block
// is of no local root, so that only leave ends it.
func enter(labels *labelSet) *Block {
	b, found, from := new(Block), goruntime.GoroutineLabels(), labels
	if !slices.ContainsFunc(labels.List, isOwn) {
		from = live(found)
	}
	b.place(found, labels, appendIf(b.inline[:0], from.Labels(), isOwn))
	put(found, &b.set)
	return b
}

func (b *Block) leave() {
	b.endAt(now())
	carried := goruntime.GoroutineLabels()
	for at := blockOf(carried); at != nil; at = at.under() {
		if at == b {
			put(carried, live(carried)) // perhaps of a span that f left open
			return
		}
	}
	put(carried, live(b.prev.Load())) // the program has replaced the labels
}
