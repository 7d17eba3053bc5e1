// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelfacts"
)

// tell lets the self-check know what labels spans. It comes after all fields of l are set.
// noRoom counts the spans for which there was no room.
func (l *labelling) tell(noRoom func() uint64) {
	_, public := l.labeler.(publicLabeler)
	l.facts = &labelfacts.Labeller{
		Disabled:      l.config.disabled,
		NoProfileID:   l.config.noProfileID || l.config.idScope == ScopeNone,
		EverySpan:     l.config.noProfileID && l.config.idScope == ScopeAllSpans,
		PublicAPI:     public,
		MaxNames:      l.config.maxNames,
		NamesFull:     l.names.full,
		EndsElsewhere: l.endsElsewhere.Load,
		NoRoom:        noRoom,
	}
	if l.provider != nil {
		l.facts.Provider = l.provider
	}
	labelfacts.Register(l.facts)
}

// unlabelled counts a span that is none of ours, as it is not sampled.
func (l *labelling) unlabelled(sc *trace.SpanContext) { l.facts.Count(sc.TraceID(), false) }
