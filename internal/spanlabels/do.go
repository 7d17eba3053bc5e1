// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"context"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Do calls f with the labels of ctx on the calling goroutine, beside the user's
// labels that it carries, and restores what held before. The labels hold until
// f returns, even if their span ends. A context without labels changes nothing.
func Do(ctx context.Context, f func(context.Context)) {
	if usesPublic {
		putPublic(ctx)
		defer putPublic(context.Background())
		f(ctx)
		return
	}
	labels := goruntime.ContextLabels(ctx)
	if labels == nil {
		f(ctx)
		return
	}
	b := enter(labels)
	defer b.leave()
	f(ctx)
}

// enter puts a block with the given labels on the calling goroutine. The block
// is of no local root, so that only leave ends it.
func enter(labels *labelSet) *Block {
	b := new(Block)
	own := b.inline[:0]
	for _, l := range labels.List {
		if IsOwn(l.Key) {
			own = append(own, l)
		}
	}
	b.start, _ = StartOf(labels)
	found := goruntime.GoroutineLabels()
	b.place(found, labels, own)
	put(found, &b.set)
	return b
}

func (b *Block) leave() {
	put(goruntime.GoroutineLabels(), live(b.prev.Load()))
	b.endAt(goruntime.Nanotime())
}

// Go calls f by [Do] on a new goroutine that inherits no labels.
func Go(ctx context.Context, f func(context.Context)) {
	go func() {
		goruntime.ClearLabels()
		Do(ctx, f)
	}()
}
