// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// endedGroup is a group whose samples were taken after the end of a span, in a
// goroutine that the span had started. Its own ids are those that held before the span.
type endedGroup struct {
	span  ident.Key
	group uint32
}

// endedSpan returns the span that had ended when s was taken, 0 for none and for an id
// that is not a span's, whose label then is like any other.
func endedSpan(s *profile.Sample) ident.Key {
	return ident.ParseKey(firstLabel(s, labelkey.EndedSpanID))
}

// disown takes away what names a span that had ended as the sample's own: nothing is
// counted for a span after its end.
func (b *builder) disown(key *groupKey) {
	if ident.ParseKey(key.Profile) != key.ended && ident.ParseKey(key.Span) != key.ended {
		return
	}
	key.IDs = IDs{Trace: key.Trace}
	b.labels = slices.DeleteFunc(b.labels, func(l Label) bool { return l.Key == labelkey.SpanName })
}

// Ended returns the span after whose end the samples of the group were taken, 0 for
// none.
func (g Group) Ended() ident.Key {
	i, ok := slices.BinarySearchFunc(g.Window.ended, uint32(g.Index), func(e endedGroup, index uint32) int { return cmp.Compare(e.group, index) })
	if !ok {
		return 0
	}
	return g.Window.ended[i].span
}

// FindEnded appends the groups whose samples were taken after the end of a span.
func (w *Window) FindEnded(groups []Group, span ident.Key) []Group {
	for _, e := range w.ended {
		if e.span == span {
			groups = append(groups, Group{w, int(e.group)})
		}
	}
	return groups
}

// EachEnded shows the CPU time that was taken after the end of spans, and the number of
// its samples, group by group.
func (w *Window) EachEnded(visit func(span ident.Key, cpu time.Duration, samples int64)) {
	for _, e := range w.ended {
		if cpu, n := (Group{w, int(e.group)}).CPU(); n > 0 {
			visit(e.span, cpu, n)
		}
	}
}
