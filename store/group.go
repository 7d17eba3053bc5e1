// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// groupRow is a group as a window keeps it. Most samples of a busy server are in
// a group of few, so its size is what a sample costs.
type groupRow struct {
	span  ident.Key
	trace trace.TraceID
}

// group is the samples of a window that have all labels in common.
type group struct {
	window *window
	index  int
}

func (g group) row() *groupRow { return &g.window.groups[g.index] }

func (g group) labelling() *labelling { return &g.window.labellings[g.window.labelled.At(g.index)] }

func (g group) labels() *labelSet { return g.labelling().set }

// bounds returns the group's samples: those from first up to last.
func (g group) bounds() (first, last int) {
	last = len(g.window.frames)
	if next := g.index + 1; next < len(g.window.groups) {
		last = next + g.window.surplus.At(next)
	}
	return g.index + g.window.surplus.At(g.index), last
}

// profileID and spanID return the labels, "" where there is none.
func (g group) profileID() string {
	switch l := g.labelling(); l.form {
	case textIDs:
		return l.texts.profileID
	case bothIDs, profileIDOnly:
		return g.row().span.String()
	default:
		return ""
	}
}

func (g group) spanID() string {
	switch l := g.labelling(); l.form {
	case textIDs:
		return l.texts.spanID
	case bothIDs, spanIDOnly:
		return g.row().span.String()
	default:
		return ""
	}
}

func (g group) traceID() string {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.traceID
	}
	if id := g.row().trace; id.IsValid() {
		return id.String()
	}
	return ""
}

// traced says whether the group has a trace_id.
func (g group) traced() bool {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.traceID != ""
	}
	return g.row().trace.IsValid()
}

// spans returns the spans that profile_id and span_id name, 0 for none and for
// ids that are not a span's.
func (g group) spans() (profile, span ident.Key) {
	row := g.row()
	switch l := g.labelling(); l.form {
	case bothIDs:
		return row.span, row.span
	case spanIDOnly:
		return 0, row.span
	case profileIDOnly:
		return row.span, 0
	case textIDs:
		return ident.ParseKey(l.texts.profileID), ident.ParseKey(l.texts.spanID)
	default:
		return 0, 0
	}
}

// belongsTo says whether profile_id or span_id is an id, which is text or, if that
// is a span's, key.
func (g group) belongsTo(text string, key ident.Key) bool {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.profileID == text || l.texts.spanID == text
	}
	return key != 0 && g.row().span == key
}

// named says whether the group names a profile or a span.
func (g group) named() bool {
	l := g.labelling()
	return l.form != noIDs && (l.form != textIDs || l.texts.profileID != "" || l.texts.spanID != "")
}

// loose says whether no span_id names what profile_id does.
func (g group) loose() bool {
	switch l := g.labelling(); l.form {
	case profileIDOnly:
		return true
	case textIDs:
		return l.texts.profileID != "" && l.texts.profileID != l.texts.spanID
	default:
		return false
	}
}

// count returns the number of samples of the group.
func (g group) count() (samples int64) {
	first, last := g.bounds()
	for i := first; i < last; i++ {
		samples += g.window.count(i)
	}
	return samples
}

// cpu returns the CPU time of the group and the number of its samples; both
// are 0 unless the window's kind is CPU.
func (g group) cpu() (total time.Duration, samples int64) {
	w := g.window
	if w.kind != exporter.KindCPU {
		return 0, 0
	}
	first, last := g.bounds()
	for i := first; i < last; i++ {
		if c := w.cpuColumn; c >= 0 {
			total += time.Duration(w.value(i, c)) * w.cpuScale
		}
		samples += w.count(i)
	}
	return total, samples
}

// ofSpans returns the groups that have an id.
func (w *window) ofSpans() iter.Seq[spanlog.Group] {
	return func(yield func(spanlog.Group) bool) {
		for i := range w.groups {
			if g := (group{w, i}); g.named() && !yield(g.ofSpan()) {
				return
			}
		}
	}
}

// ofSpan returns what the span log wants to know of a group.
func (g group) ofSpan() spanlog.Group {
	s := spanlog.Group{Index: g.index, Loose: g.loose(), Label: ident.Cut(g.labels().get(spanNameLabel))}
	s.Profile, s.Span = g.spans()
	s.Held = g.count()
	s.CPU, s.CPUCount = g.cpu()
	if g.window.wall() {
		s.WallCount = s.Held
	}
	return s
}
