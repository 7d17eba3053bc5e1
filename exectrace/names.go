// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

const (
	mostNames   = 100
	mostBlocked = 20
	// mostOfName bounds how many names, and blockers of a name, are told apart.
	mostOfName = 1000
	// namesBudget is how many pieces are looked at: more than there are segments, unless
	// spans overlap on a goroutine.
	namesBudget = 20_000_000
)

type nameSum struct {
	spans    int
	duration int64
	states   [timeline.States]int64
	blocked  map[blockedKey]*BlockedBy
	forOther int64 // in blocked
}

type blockedKey struct {
	state timeline.State
	span  string
}

// names sums up the local roots that are whole, by name.
func names(t *timeline.Timeline) []Name {
	sums, budget := map[string]*nameSum{}, namesBudget
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.IsRoot() || !s.Ended {
			continue
		}
		sum := sums[s.Name]
		if sum == nil {
			if len(sums) == mostOfName {
				continue
			}
			sum = &nameSum{blocked: map[blockedKey]*BlockedBy{}}
			sums[s.Name] = sum
		}
		sum.add(t, int32(i), &budget)
	}
	order := make([]string, 0, len(sums))
	for name := range sums {
		order = append(order, name)
	}
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(cmp.Compare(sums[y].forOther, sums[x].forOther), cmp.Compare(sums[y].duration, sums[x].duration), cmp.Compare(x, y))
	})
	list := make([]Name, 0, min(len(order), mostNames))
	for _, name := range order[:min(len(order), mostNames)] {
		sum := sums[name]
		list = append(list, Name{
			Name: name, Spans: sum.spans, Duration: duration(sum.duration), States: stateTimes(&sum.states), Blocked: sum.list(),
		})
	}
	return list
}

// add adds a local root, by what the goroutine did that it began on.
func (n *nameSum) add(t *timeline.Timeline, root int32, budget *int) {
	s := &t.Spans[root]
	n.spans++
	n.duration += s.End - s.Start
	t.Pieces(s.Goroutine, s.Start, s.End, func(p timeline.Piece) bool {
		if *budget--; *budget < 0 {
			return false
		}
		if p.Span == timeline.None || t.Root(p.Span) != root {
			return true
		}
		n.states[p.State] += p.End - p.Start
		if p.Segment.Waker == timeline.None || !p.State.Waits() {
			return true
		}
		by := t.Root(t.SpanAt(p.Segment.Waker, p.End))
		if by == timeline.None || by == root {
			return true
		}
		key := blockedKey{p.State, t.Spans[by].Name}
		sum := n.blocked[key]
		if sum == nil {
			if len(n.blocked) == mostOfName {
				return true
			}
			sum = &BlockedBy{State: p.State.String(), Span: key.span}
			n.blocked[key] = sum
		}
		sum.Duration += duration(p.End - p.Start)
		sum.Count++
		n.forOther += p.End - p.Start
		return true
	})
}

func (n *nameSum) list() []BlockedBy {
	var list []BlockedBy
	for _, b := range n.blocked {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(x, y BlockedBy) int {
		return cmp.Or(cmp.Compare(y.Duration, x.Duration), cmp.Compare(x.Span, y.Span), cmp.Compare(x.State, y.State))
	})
	return list[:min(len(list), mostBlocked)]
}
