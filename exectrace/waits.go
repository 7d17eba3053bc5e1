// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

const (
	// maxChain bounds a chain of goroutines that wait for each other.
	maxChain       = 8
	mostWaits      = 100
	mostBlockers   = 20
	mostActivities = 20
	// mostWaitKeys bounds the different waits while they are summed.
	mostWaitKeys = 10_000
)

// waitKey identifies waits with one sum.
type waitKey struct {
	goroutine, span int32
	state           timeline.State
	stack, ended    timeline.StackID
	waker           int32
	wakerRoot       int32 // the local root of waker then
}

type waitSum struct {
	duration int64
	count    int
	blockers map[blockerKey]*blockerSum
}

type blockerKey struct{ goroutine, root int32 }

type blockerSum struct {
	depth    int // the number of goroutines in between
	duration int64
	did      map[activityKey]int64
}

type activityKey struct {
	span  int32
	state timeline.State
}

// wait adds a wait of a goroutine of the span.
func (a *spanAnalysis) wait(goroutine int32, p *timeline.Piece) {
	seg := p.Segment
	key := waitKey{goroutine, p.Span, p.State, seg.Stack, seg.WakerStack, seg.Waker, timeline.None}
	if seg.Waker != timeline.None {
		key.wakerRoot = a.spanOf(seg.Waker, p.Start, p.End)
	}
	sum := a.waits[key]
	if sum == nil {
		if len(a.waits) == mostWaitKeys {
			a.out.WaitsOmitted++
			return
		}
		sum = &waitSum{blockers: map[blockerKey]*blockerSum{}}
		a.waits[key] = sum
	}
	sum.duration += p.End - p.Start
	sum.count++
	if seg.Waker != timeline.None {
		a.blame(sum, goroutine, seg.Waker, key.wakerRoot, p.Start, p.End, 0)
	}
}

// blame adds what a goroutine did while waiter waited for it: it ended that wait at to. Its own
// waits belong to the goroutines that ended them. root is spanOf the goroutine.
func (a *spanAnalysis) blame(sum *waitSum, waiter, goroutine, root int32, from, to int64, depth int) {
	g := &a.t.Goroutines[goroutine]
	if g.Created > from && g.Creator != timeline.None && g.Creator != waiter && depth < maxChain {
		end := min(g.Created, to)
		a.blame(sum, waiter, g.Creator, a.spanOf(g.Creator, from, end), from, end, depth+1)
		from = g.Created
	}
	a.t.Pieces(goroutine, from, to, func(p timeline.Piece) bool {
		if a.budget--; a.budget < 0 {
			return false
		}
		if waker := p.Segment.Waker; waker != timeline.None && p.State.Waits() && depth < maxChain {
			if waker != waiter {
				a.blame(sum, goroutine, waker, a.spanOf(waker, p.Start, p.End), p.Start, p.End, depth+1)
				return true
			}
		}
		of := root
		if p.Span != timeline.None {
			of = a.t.Root(p.Span)
		}
		sum.add(blockerKey{goroutine, of}, depth, activityKey{p.Span, p.State}, p.End-p.Start)
		return true
	})
}

// spanOf returns the local root of a goroutine when it ended a wait. If it had none, its last
// one in that time counts: a span may end before its lock is released.
func (a *spanAnalysis) spanOf(goroutine int32, from, to int64) int32 {
	if s := a.t.SpanAt(goroutine, to); s != timeline.None {
		return a.t.Root(s)
	}
	root := timeline.None
	a.t.Pieces(goroutine, from, to, func(p timeline.Piece) bool {
		if p.Span != timeline.None {
			root = a.t.Root(p.Span)
		}
		a.budget--
		return a.budget >= 0
	})
	return root
}

func (w *waitSum) add(key blockerKey, depth int, did activityKey, duration int64) {
	b := w.blockers[key]
	if b == nil {
		if len(w.blockers) == 4*mostBlockers {
			return
		}
		b = &blockerSum{depth: depth, did: map[activityKey]int64{}}
		w.blockers[key] = b
	}
	b.depth = min(b.depth, depth)
	b.duration += duration
	b.did[did] += duration
}

// sumWaits adds the longest waits to the result.
func (a *spanAnalysis) sumWaits() {
	keys := slices.SortedFunc(maps.Keys(a.waits), func(x, y waitKey) int {
		return cmp.Or(cmp.Compare(a.waits[y].duration, a.waits[x].duration), cmp.Compare(x.goroutine, y.goroutine),
			cmp.Compare(x.stack, y.stack), cmp.Compare(x.waker, y.waker), cmp.Compare(x.ended, y.ended), cmp.Compare(x.span, y.span),
			cmp.Compare(x.wakerRoot, y.wakerRoot))
	})
	for i, key := range keys {
		if i == mostWaits {
			a.out.WaitsOmitted += len(keys) - i
			break
		}
		sum := a.waits[key]
		w := Wait{
			State: key.state.String(), Duration: duration(sum.duration), Count: sum.count,
			Goroutine: a.t.Goroutines[key.goroutine].ID, Child: childName(a.t, key.span, a.root),
			Stack: frames(a.t, key.stack),
		}
		if key.waker != timeline.None {
			w.Ended = frames(a.t, key.ended)
		}
		w.Blockers = a.blockers(sum)
		a.out.Waits = append(a.out.Waits, w)
	}
}

func (a *spanAnalysis) blockers(sum *waitSum) []Blocker {
	keys := slices.SortedFunc(maps.Keys(sum.blockers), func(x, y blockerKey) int {
		bx, by := sum.blockers[x], sum.blockers[y]
		return cmp.Or(cmp.Compare(bx.depth, by.depth), cmp.Compare(by.duration, bx.duration),
			cmp.Compare(x.goroutine, y.goroutine), cmp.Compare(x.root, y.root))
	})
	var list []Blocker
	for _, key := range keys[:min(len(keys), mostBlockers)] {
		b := sum.blockers[key]
		g := &a.t.Goroutines[key.goroutine]
		out := Blocker{Goroutine: g.ID, Function: g.Function, Duration: duration(b.duration), Did: []Part{}}
		if key.root != timeline.None {
			root := &a.t.Spans[key.root]
			out.SpanID, out.Span, out.Same = spanID(root), root.Name, key.root == a.root
		}
		byName := map[Part]int64{} // several spans may have one name
		for did, sum := range b.did {
			byName[Part{State: did.state.String(), Child: childName(a.t, did.span, key.root)}] += sum
		}
		for did, sum := range byName {
			did.Duration = duration(sum)
			out.Did = append(out.Did, did)
		}
		slices.SortFunc(out.Did, func(x, y Part) int {
			return cmp.Or(cmp.Compare(y.Duration, x.Duration), cmp.Compare(x.State, y.State), cmp.Compare(x.Child, y.Child))
		})
		out.Did = out.Did[:min(len(out.Did), mostActivities)]
		list = append(list, out)
	}
	return list
}
