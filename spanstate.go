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
// Start returns, and holds the context that Start returns, so that a span costs
// one allocation beside its labels.
type spanState struct {
	by *labelling
	// root is the labelled local root: the span itself for one, nil where
	// there is none.
	root *spanState

	ctx spanContext // for the caller

	traceID  trace.TraceID
	labelID  trace.SpanID // of LabelProfileID and LabelSpanID
	sampled  bool         // or labelled as if it were
	labelled bool         // the labeler knows the span
	// profiled says that LabelProfileID has the span's own id, so that there
	// is a profile to link to.
	profiled bool
	// byProcessor says that a SpanProcessor labels the span. A TracerProvider
	// that does so too takes it over.
	byProcessor bool
	ended       atomic.Bool // End has been called

	// What runtimeLabeler keeps. carrier is whose labels the goroutine carries
	// for the span: the origin of its own block, or for an heir that of an
	// ancestor, and then found is what the goroutine carried before.
	carrier *labelBlock
	found   *labelMap
	heir    bool
	nested  bool // the heir is counted in carrier.nested
	copied  bool // the goroutine carries a copy of the labels, with others of a pprof.Do

	// What publicLabeler keeps: how many calls of Do have the span's context, the
	// context that Start was given, and a context.Context with the labels.
	entered atomic.Int32
	started context.Context
	public  atomic.Value
}

// contextValue returns what runtime/pprof finds in the span's context.
func (s *spanState) contextValue() any {
	if !s.labelled {
		return s.ctx.Context.Value(pprofLabelsKey)
	}
	return s.by.labeler.contextValue(s)
}

// encodeIDs writes the hex digits of the labelled span's id and of the trace id.
func (s *spanState) encodeIDs(digits *[hexIDsLen]byte) {
	s.encodeLabelID(digits)
	hex.Encode(digits[16:], s.traceID[:])
}

func (s *spanState) encodeLabelID(digits *[hexIDsLen]byte) {
	hex.Encode(digits[:16], s.labelID[:])
}

// appendLabels appends the span's labels, sorted by key. ids are the digits
// that encodeIDs made.
func (s *spanState) appendLabels(list []label, keys *idKeys, ids, name string) []label {
	if s.sampled && s.by.config.idScope != ScopeNone {
		list = append(list, label{Key: LabelProfileID, Value: ids[:16]}, label{Key: keys.span, Value: ids[:16]})
	}
	if name != "" {
		list = append(list, label{Key: LabelSpanName, Value: name})
	}
	if s.sampled {
		list = append(list, label{Key: keys.trace, Value: ids[16:]})
	}
	return list
}

// setName changes the labels after the span's name. Only a span whose own name
// is in its labels has them changed.
func (s *spanState) setName(name string) {
	if !s.labelled || s.ended.Load() {
		return
	}
	switch s.by.config.nameScope {
	case ScopeNone:
		return
	case ScopeRootSpan:
		if s.root != s {
			return
		}
	}
	s.by.labeler.rename(s, s.by.names.label(name))
}

// finish does, once, what precedes the end of span: its labels are taken off the
// goroutine, its attributes are set. span is nil where it has ended already.
func (s *spanState) finish(span trace.Span) {
	if s.ended.Swap(true) || !s.labelled {
		return
	}
	// Restore labels first: this cannot panic.
	if !s.by.labeler.end(s) {
		s.by.endsElsewhere.Add(1)
	}
	if s.profiled && span != nil {
		s.by.setAttributes(span, s)
	}
}

// abandon gives the labels up of a span whose end may not be seen.
func (s *spanState) abandon() {
	if s.labelled {
		s.by.labeler.abandon(s)
	}
}
