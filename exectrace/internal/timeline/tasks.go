// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"

	exptrace "golang.org/x/exp/trace"

	"github.com/spanprof/spanprof/internal/spanlabels"
)

// The categories of the marks that package spanprof writes by runtime/trace.Log. The
// message of the first two is the span's id, 8 bytes.
const (
	// markSpan is in the span's own task.
	markSpan = spanlabels.MarkSpan
	// markNext comes before the span's task begins, on the same goroutine: span
	// processors are called before.
	markNext = spanlabels.MarkNext
	// markLabel has the label span_id of the goroutine from now on: 16 hexadecimal digits,
	// or nothing. The two others imply their span's.
	markLabel = spanlabels.MarkLabel
)

func (s *reading) begin(e *exptrace.Event) {
	task, g := e.Task(), s.goroutine(e.Goroutine())
	if g == None {
		return
	}
	index := int32(len(s.Spans))
	span := Span{Name: s.stacks.text(task.Type), Parent: None, Goroutine: g, EndGoroutine: None, Start: s.now(e), End: forever}
	if parent, ok := s.tasks[task.Parent]; ok {
		span.Parent = parent
	} else {
		span.Orphan = task.Parent != exptrace.NoTask && task.Parent != 0
	}
	on := &s.Goroutines[g]
	if on.isPending {
		span.ID, span.Marked, on.isPending = on.pending, true, false
	}
	s.Spans = append(s.Spans, span)
	s.tasks[task.ID] = index
	on.open = append(on.open, index)
	on.marks = append(on.marks, mark{span.Start, index})
	s.used += spanBytes + markBytes
}

func (s *reading) end(e *exptrace.Event) {
	index, ok := s.tasks[e.Task().ID]
	if !ok {
		s.EndedUnseen++
		return
	}
	span := &s.Spans[index]
	if span.Ended {
		return
	}
	span.End, span.EndGoroutine, span.Ended = s.now(e), s.goroutine(e.Goroutine()), true
	on := &s.Goroutines[span.Goroutine]
	i := slices.Index(on.open, index)
	if i < 0 {
		return // its goroutine has ended
	}
	on.open = slices.Delete(on.open, i, i+1)
	inner := None
	if len(on.open) > 0 {
		inner = on.open[len(on.open)-1]
	}
	on.marks = append(on.marks, mark{span.End, inner})
	s.used += markBytes
}

// log reads the marks of spanprof.
func (s *reading) log(e *exptrace.Event) {
	l := e.Log()
	g := s.goroutine(e.Goroutine())
	if g != None && s.threads != nil {
		s.mark(g, e, l)
	}
	if g == None || s.threads != nil || len(l.Message) != 8 {
		return
	}
	switch l.Category {
	case markSpan:
		index, ok := s.tasks[l.Task]
		if !ok || s.Spans[index].Goroutine != g || s.Spans[index].Ended {
			return
		}
		copy(s.Spans[index].ID[:], l.Message)
		s.Spans[index].Marked = true
	case markNext:
		on := &s.Goroutines[g]
		copy(on.pending[:], l.Message)
		on.isPending = true
	}
}
