// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"context"
	"runtime/pprof"
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// usesPublic reports whether labels are set by runtime/pprof, which cannot read them: user
// labels outside the context are lost, and Do leaves no labels.
var usesPublic = goruntime.Unknown() != nil

// Key is the key under which the context of a span has its *Block.
type Key struct{}

// publicSpan is the part of a block that the public API needs.
type publicSpan struct {
	started  context.Context // the context that the span was started with
	labelled atomic.Value    // the context.Context with its labels
}

func (p *publicSpan) context() context.Context { return p.labelled.Load().(context.Context) }

// setPublic adds own to the labels of the context that b was started with.
func (b *Block) setPublic(own []label) {
	kv := make([]string, 0, 8)
	for _, l := range own {
		kv = append(kv, l.Key, l.Value)
	}
	b.public.labelled.Store(pprof.WithLabels(b.public.started, pprof.Labels(kv...)))
}

func labelsIn(ctx context.Context) (list []label) {
	pprof.ForLabels(ctx, func(key, value string) bool {
		list = append(list, label{Key: key, Value: value})
		return true
	})
	return list
}

// endPublic puts back the labels of the nearest context with an open span. Without
// one it is the outermost context, which has no span.
func (b *Block) endPublic() {
	b.endAt(now())
	ctx := b.public.started
	for range maxDepth {
		outer, _ := ctx.Value(Key{}).(*Block)
		if outer == nil || !outer.Ended() {
			putPublic(ctx)
			return
		}
		ctx = outer.public.started
	}
	putPublic(context.Background())
}
