// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"encoding/hex"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// spanState is what spanprof knows of a span. It is part of the span that
// Start returns, and holds the contexts that Start makes, so that a span costs
// one allocation beside its labels.
type spanState struct {
	tp *TracerProvider
	// root is the labelled local root: the span itself for one, nil where
	// there is none.
	root *spanState

	ctx   spanContext  // for the caller
	inner innerContext // for the inner tracer, where the parent is ours

	traceID  trace.TraceID
	labelID  trace.SpanID // of LabelProfileID and LabelSpanID
	sampled  bool         // or labelled as if it were
	labelled bool         // the labeler knows the span
	// profiled says that LabelProfileID has the span's own id, so that there
	// is a profile to link to.
	profiled bool
	ended    atomic.Bool

	// What runtimeLabeler keeps: labels of its own, or whose labels it uses
	// and what it found on the goroutine.
	block  atomic.Pointer[labelBlock]
	heirOf *labelBlock
	found  *labelMap

	// What publicLabeler keeps.
	public    atomic.Pointer[publicLabels]
	parentCtx context.Context
}

// contextValue returns what runtime/pprof finds in the span's context.
func (s *spanState) contextValue() any {
	if !s.labelled {
		return s.ctx.Context.Value(pprofLabelsKey)
	}
	return s.tp.labeler.contextValue(s)
}

// appendIDs appends the hex digits of the labelled span's id and of the trace
// id, hexIDsLen in all.
func (s *spanState) appendIDs(b []byte) {
	b = hex.AppendEncode(b, s.labelID[:])
	hex.AppendEncode(b, s.traceID[:])
}

// appendLabels appends the span's labels, sorted by key. ids are the digits
// that appendIDs made.
func (s *spanState) appendLabels(list []label, ids, name string) []label {
	if s.sampled && s.tp.config.idScope != ScopeNone {
		list = append(list, label{LabelProfileID, ids[:16]}, label{LabelSpanID, ids[:16]})
	}
	if name != "" {
		list = append(list, label{LabelSpanName, name})
	}
	if s.sampled {
		list = append(list, label{LabelTraceID, ids[16:]})
	}
	return list
}

// setName changes the labels after the span's name. Only a span whose own name
// is in its labels has them changed.
func (s *spanState) setName(name string) {
	if !s.labelled || s.ended.Load() || s.tp.labeler.name(s) == "" {
		return
	}
	if s.root != s && s.tp.config.nameScope != ScopeAllSpans {
		return
	}
	if name = s.tp.names.label(name); name != "" {
		s.tp.labeler.rename(s, name)
	}
}

// finish does, once, what precedes the end of span: its links are set, its
// labels are taken off the goroutine.
func (s *spanState) finish(span trace.Span) {
	if s.ended.Swap(true) || !s.labelled {
		return
	}
	if s.profiled {
		s.tp.setLinks(span, s)
	}
	if !s.tp.labeler.end(s) {
		s.tp.endsElsewhere.Add(1)
	}
}
