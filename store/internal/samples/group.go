// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// groupRow is a group as a window keeps it. Most samples of a busy server are in
// a group of few, so its size is what a sample costs.
type groupRow struct {
	span  ident.Key
	trace trace.TraceID
}

// Group is the samples of a window that have all labels in common.
type Group struct {
	Window *Window
	Index  int
}

func (g Group) row() *groupRow { return &g.Window.groups[g.Index] }

func (g Group) labelling() *labelling { return &g.Window.labellings[g.Labelling()] }

// Labelling returns which of the window's labellings the group has.
func (g Group) Labelling() int { return g.Window.labelled.At(g.Index) }

// Labels returns the labels except the ids.
func (g Group) Labels() *LabelSet { return g.labelling().set }

// Bounds returns the group's samples: those from first up to last.
func (g Group) Bounds() (first, last int) {
	last = g.Window.rows.Len()
	if next := g.Index + 1; next < len(g.Window.groups) {
		last = next + g.Window.surplus.At(next)
	}
	return g.Index + g.Window.surplus.At(g.Index), last
}

// ProfileID returns the label profile_id, "" if there is none.
func (g Group) ProfileID() string { return g.id(labelkey.ProfileID) }

// SpanID returns the label span_id, "" if there is none.
func (g Group) SpanID() string { return g.id(labelkey.SpanID) }

// TraceID returns the label trace_id, "" if there is none.
func (g Group) TraceID() string { return g.id(labelkey.TraceID) }

func (g Group) id(label string) string {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.value(label)
	}
	var room [32]byte
	return string(g.AppendID(room[:0], label))
}

// AppendID appends the value of profile_id, span_id, trace_id or ended_span_id; nothing if
// there is none.
func (g Group) AppendID(b []byte, label string) []byte {
	l := g.labelling()
	if label == labelkey.EndedSpanID {
		if key := g.Ended(); key != 0 {
			return key.Append(b)
		}
		return append(b, l.set.Value(label)...)
	}
	if l.form == textIDs {
		return append(b, l.texts.value(label)...)
	}
	row := g.row()
	switch label {
	case labelkey.TraceID:
		if row.trace.IsValid() {
			return hex.AppendEncode(b, row.trace[:])
		}
	case labelkey.ProfileID:
		if l.form == bothIDs || l.form == profileIDOnly {
			return row.span.Append(b)
		}
	case labelkey.SpanID:
		if l.form == bothIDs || l.form == spanIDOnly {
			return row.span.Append(b)
		}
	}
	return b
}

// traced says whether the group has a trace_id.
func (g Group) traced() bool {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.Trace != ""
	}
	return g.row().trace.IsValid()
}

// Identity tells the ids of a group from those of others. It is comparable.
type Identity struct {
	row   groupRow
	ended ident.Key
	form  idForm
	texts string
}

// Identity returns the identity of the group's ids, without writing them out.
func (g Group) Identity() Identity {
	l := g.labelling()
	id := Identity{row: *g.row(), ended: g.Ended(), form: l.form}
	if l.form == textIDs {
		id.texts = fmt.Sprintf("%q", *l.texts)
	}
	return id
}

// Spans returns the spans that profile_id and span_id name, 0 for none and for
// ids that are not a span's.
func (g Group) Spans() (profile, span ident.Key) {
	row := g.row()
	switch l := g.labelling(); l.form {
	case bothIDs:
		return row.span, row.span
	case spanIDOnly:
		return 0, row.span
	case profileIDOnly:
		return row.span, 0
	case textIDs:
		return ident.ParseKey(l.texts.Profile), ident.ParseKey(l.texts.Span)
	default:
		return 0, 0
	}
}

// BelongsTo says whether profile_id or span_id is an id, which is text or, if that
// is a span's, key.
func (g Group) BelongsTo(text string, key ident.Key) bool {
	if l := g.labelling(); l.form == textIDs {
		return l.texts.Profile == text || l.texts.Span == text
	}
	return key != 0 && g.row().span == key
}

// InTrace says whether trace_id is an id, which is text or, as OpenTelemetry writes it, id.
func (g Group) InTrace(text string, id trace.TraceID) bool {
	if row := g.row(); row.trace.IsValid() {
		return row.trace == id
	}
	l := g.labelling()
	return l.form == textIDs && l.texts.Trace == text
}

// named says whether the group names a profile or a span.
func (g Group) named() bool {
	l := g.labelling()
	return l.form != noIDs && (l.form != textIDs || l.texts.Profile != "" || l.texts.Span != "")
}

// loose says whether no span_id names what profile_id does.
func (g Group) loose() bool {
	switch l := g.labelling(); l.form {
	case profileIDOnly:
		return true
	case textIDs:
		return l.texts.Profile != "" && l.texts.Profile != l.texts.Span
	default:
		return false
	}
}

// Count returns the number of samples of the group.
func (g Group) Count() (samples int64) {
	first, last := g.Bounds()
	for i := first; i < last; i++ {
		samples += g.Window.CountOf(i)
	}
	return samples
}

// CPU returns the CPU time of the group and the number of its samples; both
// are 0 unless the window's kind is CPU.
func (g Group) CPU() (total time.Duration, samples int64) {
	w := g.Window
	if w.Kind != exporter.KindCPU {
		return 0, 0
	}
	first, last := g.Bounds()
	for i := first; i < last; i++ {
		cpu, n := w.CPUOf(i)
		total += cpu
		samples += n
	}
	return total, samples
}

// OfSpans returns the groups that have an id, if only that of a span that had ended.
func (w *Window) OfSpans() iter.Seq[spanlog.Group] {
	return func(yield func(spanlog.Group) bool) {
		for i := range w.groups {
			if g := (Group{w, i}); (g.named() || g.Ended() != 0) && !yield(g.ofSpan()) {
				return
			}
		}
	}
}

// ofSpan returns the group as the span log takes it.
func (g Group) ofSpan() spanlog.Group {
	s := spanlog.Group{Index: g.Index, Ended: g.Ended(), Loose: g.loose(), Label: ident.Cut(g.Labels().SpanName()), Samples: g.samples()}
	s.Profile, s.Span = g.Spans()
	return s
}

func (g Group) samples() (s spanlog.Samples) {
	s.Held = g.Count()
	s.CPU, s.CPUCount = g.CPU()
	if g.Window.Kind == exporter.KindWall {
		s.WallCount = s.Held
	}
	return s
}
