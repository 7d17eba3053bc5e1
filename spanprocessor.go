// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// spanProcessor is what NewSpanProcessor returns.
type spanProcessor struct {
	labelling  *labelling
	shards     [openShards]openSpans
	unlabelled atomic.Uint64
}

const (
	openShards   = 64
	openPerShard = 1024
)

// openSpans are labelled spans that have not ended.
type openSpans struct {
	mu    sync.Mutex
	spans map[openKey]*spanState
	// sweepAt is how many spans there are when those that have been given up are
	// removed, as the program may have forgotten to end them.
	sweepAt        int
	startsWhenFull int // since the last time
	shut           bool
}

const (
	minSweep = 64
	// sweepWhenFull is how many spans start while there is no room before a shard looks
	// for given up ones again, so that not every Start has to look.
	sweepWhenFull = openPerShard / 4
)

type openKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

var _ sdktrace.SpanProcessor = (*spanProcessor)(nil)

// NewSpanProcessor returns a processor that labels goroutines as TracerProvider does, from
// within the SDK:
// for frameworks that make the tracer provider themselves and take span
// processors alone. Wrap the provider where you can. A processor
//
//   - sees no contexts but those that spans are started with: the labels are not
//     in the context that Start returns, so a pprof.Do inside the span takes them
//     off, and a goroutine of a pool has them only by a span of its own;
//   - does not see SetName, so span_name is the name that the span began with;
//   - cannot set attributes when a span ends, so the profile id is set when it
//     starts, and there are no profile URLs;
//   - finds local roots by spans that are open: in root scope the child of a span
//     that has ended is a root of its own;
//   - has to remember each span that is open, to find its local root: some 60,000
//     of them; those above have no labels, and the self-check counts them. Spans that the
//     program forgets to end are forgotten too when their local root ends, but not with
//     [WithPublicLabelsOnly];
//   - cuts names of more than 60,000 bytes while an execution trace is on, as Go before 1.27
//     would die of them.
//
// Where the provider is wrapped too, the wrapper's labels count; give both the
// same options.
//
// It takes the options of NewTracerProvider; those for URLs have no effect.
func NewSpanProcessor(opts ...Option) sdktrace.SpanProcessor {
	c := newConfig(append(slices.Clone(opts), WithProfileURL(false), WithProfileBaselineURL(false)))
	p := &spanProcessor{labelling: newLabelling(c)}
	for i := range p.shards {
		p.shards[i].spans = make(map[openKey]*spanState)
		p.shards[i].sweepAt = minSweep
	}
	p.labelling.tell(p.unlabelled.Load)
	return p
}

// OnStart labels the calling goroutine.
func (p *spanProcessor) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if p.labelling.config.disabled {
		return
	}
	if _, ok := ctx.(*innerContext); ok {
		return // the child of a span that a TracerProvider labels, as it will
	}
	sc, parent := span.SpanContext(), span.Parent()
	key := openKey{sc.TraceID(), sc.SpanID()}
	if !p.reserve(key) {
		return
	}
	var parentState *spanState
	if parent.IsValid() && !parent.IsRemote() {
		parentState = p.find(openKey{parent.TraceID(), parent.SpanID()})
	}
	if crashesTrace(span.Name()) {
		span.SetName(goruntime.CutTaskName(span.Name())) // for good: OnEnd can change nothing
	}
	s := &spanState{byProcessor: true}
	p.labelling.begin(ctx, ctx, span, &sc, s, parentState, span.Name())
	if s.profiled && !p.labelling.config.noProfileID {
		span.SetAttributes(attribute.String(AttributeProfileID, p.labelling.labeler.profileID(s)))
	}
	p.put(key, s)
}

// OnEnd puts back what the goroutine carried.
func (p *spanProcessor) OnEnd(span sdktrace.ReadOnlySpan) {
	sc := span.SpanContext()
	s, shut := p.take(openKey{sc.TraceID(), sc.SpanID()})
	if s == nil {
		return
	}
	s.finish(nil)
	if shut {
		p.labelling.labeler.settle()
	}
}

// Shutdown labels no more spans, and gives up the labels of those that are open:
// a tracer provider that shuts down passes on the end of few of them. Where it
// does not, the goroutine loses the labels when a span of another provider
// starts or ends there.
func (p *spanProcessor) Shutdown(context.Context) error {
	for i := range p.shards {
		p.shards[i].shutDown()
	}
	return nil
}

// ForceFlush does nothing.
func (p *spanProcessor) ForceFlush(context.Context) error { return nil }

func (p *spanProcessor) shard(key openKey) *openSpans {
	return &p.shards[key.span[7]%openShards]
}

// shutDown gives up the labels of all spans.
func (o *openSpans) shutDown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = true
	for _, s := range o.spans {
		if s != nil {
			s.abandon()
		}
	}
}

// reserve makes room for a span and reports whether it is to be labelled.
func (p *spanProcessor) reserve(key openKey) bool {
	shard := p.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.shut {
		return false
	}
	if len(shard.spans) >= openPerShard {
		shard.startsWhenFull++
	}
	if len(shard.spans) >= shard.sweepAt || shard.startsWhenFull == sweepWhenFull {
		shard.sweep(p.labelling.labeler)
	}
	if len(shard.spans) >= openPerShard {
		p.unlabelled.Add(1)
		return false
	}
	shard.spans[key] = nil
	return true
}

// sweep removes spans that have been given up. It looks at each span about once, as
// long as there is room: next time there are twice as many.
func (o *openSpans) sweep(l labeler) {
	maps.DeleteFunc(o.spans, func(_ openKey, s *spanState) bool { return s != nil && l.givenUp(s) })
	o.sweepAt, o.startsWhenFull = max(minSweep, 2*len(o.spans)), 0
}

func (p *spanProcessor) put(key openKey, s *spanState) {
	shard := p.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.spans[key] = s
	if shard.shut {
		s.abandon()
	}
}

func (p *spanProcessor) find(key openKey) *spanState {
	shard := p.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	return shard.spans[key]
}

// take removes the state of a span, nil if there is none, and reports whether its
// labels have been given up by Shutdown.
func (p *spanProcessor) take(key openKey) (s *spanState, shut bool) {
	shard := p.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	s = shard.spans[key]
	delete(shard.spans, key)
	return s, shard.shut
}
