// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package spanlabels

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Ids are as encoding/hex writes them.
func TestEncodeHex(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	got := make([]byte, 2*len(all))
	if encodeHex(got, all); string(got) != hex.EncodeToString(all) {
		t.Errorf("%s", got)
	}
}

// onGoroutine runs f on a goroutine without labels.
func onGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.SetLabels(nil)
		f()
	}()
	<-done
}

// number returns the values of a span that differ by i.
func number(i int) *Values {
	return &Values{Span: [8]byte{byte(i >> 16), byte(i >> 8), byte(i)}, Trace: [16]byte{1}, SpanID: true, TraceID: true, Name: "span", Start: int64(i)}
}

// blocksUnder returns the number of blocks that a goroutine with the labels m holds.
func blocksUnder(m *labelSet) (n int) {
	for b := blockOf(m); b != nil; b = blockOf(b.prev.Load()) {
		n++
	}
	return n
}

// Spans that are never ended have at most 256 blocks on their goroutine.
func TestForgottenBlocks(t *testing.T) {
	for name, child := range map[string]bool{"roots": false, "children": true} {
		onGoroutine(func() {
			user := &labelSet{List: []label{{Key: "worker", Value: "3"}}}
			goruntime.SetLabels(user)
			var above *Block
			root := Start(context.Background(), nil, number(1<<16))
			if child {
				above = root
			}
			most := 0
			for i := range 2000 {
				Start(context.Background(), above, number(i))
				most = max(most, blocksUnder(goruntime.GoroutineLabels()))
			}
			if most != maxDepth {
				t.Errorf("%s: %d blocks, want %d", name, most, maxDepth)
			}
			last := Start(context.Background(), above, number(2000))
			if child {
				root.End()
			} else {
				for b := blockOf(goruntime.GoroutineLabels()); b != nil; b = blockOf(goruntime.GoroutineLabels()) {
					b.End()
				}
			}
			if left := goruntime.GoroutineLabels(); left != user || !last.Ended() {
				t.Errorf("%s: %v is left", name, left.Labels())
			}
		})
	}
}

// Spans that follow each other do not hold those that ended.
func TestEndShortens(t *testing.T) {
	onGoroutine(func() {
		first := Start(context.Background(), nil, number(1))
		second := Start(context.Background(), nil, number(2))
		first.End()
		Start(context.Background(), nil, number(3))
		second.End()
		if prev := second.prev.Load(); prev != nil {
			t.Errorf("the second span holds %v", prev.List)
		}
	})
}

// A sample at the very end counts for the span.
func TestAtTheEnd(t *testing.T) {
	onGoroutine(func() {
		b := Start(context.Background(), nil, number(7))
		b.End()
		ended := b.ended.Load()
		if held, skipped := At(&b.set, ended); held != &b.set || skipped != "" {
			t.Errorf("at the end: %v, ended %q", held.Labels(), skipped)
		}
		if held, skipped := At(&b.set, ended+1); held != nil || skipped != b.ID() {
			t.Errorf("after it: %v, ended %q", held.Labels(), skipped)
		}
	})
}

// Without times a span had ended before any sample.
func TestNoTimes(t *testing.T) {
	TimesKept.Store(false)
	onGoroutine(func() {
		b := Start(context.Background(), nil, number(1))
		before := goruntime.Nanotime()
		b.End()
		if held, ended := At(&b.set, before); held != nil || ended != b.ID() {
			t.Errorf("%v held, ended %q", held.Labels(), ended)
		}
	})
}

// A wrapper's block takes the place of a SpanProcessor's, which holds no more.
func TestTakeover(t *testing.T) {
	onGoroutine(func() {
		TimesKept.Store(true)
		v := number(1)
		v.Processor = true
		processor := Start(context.Background(), nil, v)
		before := goruntime.Nanotime()
		of := number(1)
		wrapper := Start(context.Background(), nil, of)
		if !processor.Ended() || wrapper.Ended() || !of.Replaced {
			t.Error("the processor's block goes on")
		}
		if held, skipped := At(&processor.set, goruntime.Nanotime()+1); held != &wrapper.set || skipped != "" {
			t.Errorf("of the processor's labels %v hold, ended %q", held.Labels(), skipped)
		}
		if held, _ := At(&processor.set, before); held != &processor.set {
			t.Errorf("before the takeover %v held", held.Labels())
		}
		wrapper.End()
		processor.End()
		root := Start(context.Background(), nil, v)
		child := Start(context.Background(), root, v) // has the root's ids
		if root.Ended() {
			t.Error("a processor's child takes the place of its root")
		}
		child.End()
		root.End()
		if left := goruntime.GoroutineLabels(); left != nil {
			t.Errorf("%v is left", left.List)
		}
	})
}
