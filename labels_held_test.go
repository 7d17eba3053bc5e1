// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"math"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livelabels"
)

// held checks which span's labels held at a time on a goroutine that carried set.
func held(t *testing.T, when string, set *labelMap, at int64, want, wantEnded trace.Span, name string) {
	t.Helper()
	labels, endedSpanID := livelabels.At(set, at)
	gotID, gotName := "", ""
	if l := labels.Find(LabelSpanID); l != nil {
		gotID, gotName = l.Value, labels.Find(LabelSpanName).Value
	}
	wantID, wantEndedID := "", ""
	if want != nil {
		wantID = want.SpanContext().SpanID().String()
	}
	if wantEnded != nil {
		wantEndedID = wantEnded.SpanContext().SpanID().String()
	}
	if gotID != wantID || endedSpanID != wantEndedID || want != nil && gotName != name {
		t.Errorf("%s: labels of %q (%q), ended %q, want %q (%q), ended %q", when, gotID, gotName, endedSpanID, wantID, name, wantEndedID)
	}
}

func heldTracer(t *testing.T, options ...Option) trace.Tracer {
	if !ReadsGoroutineLabels() {
		t.Skip("by the public API alone nobody knows which labels hold")
	}
	return NewTracerProvider(sdktrace.NewTracerProvider(), options...).Tracer("test")
}

// Samples before the end are the span's although it has ended by now, those after it
// are of what held before.
func TestLabelsHeldAtATime(t *testing.T) {
	for _, all := range []bool{false, true} {
		tracer := heldTracer(t, WithRootSpanOnly(!all))
		goruntime.SetLabels(nil)
		_, outer := tracer.Start(context.Background(), "outer")
		ofOuter := goruntime.GoroutineLabels()
		ctx, root := tracer.Start(context.Background(), "root")
		ofRoot := goruntime.GoroutineLabels()
		_, child := tracer.Start(ctx, "child")
		ofChild, inChild := goruntime.GoroutineLabels(), goruntime.Nanotime()
		child.End()
		afterChild := goruntime.Nanotime()
		root.End()
		afterRoot := goruntime.Nanotime()
		outer.SetName("renamed")
		ofRenamed := goruntime.GoroutineLabels()
		outer.End()
		afterOuter := goruntime.Nanotime()

		owner, name := root, "root"
		var ended trace.Span
		if all {
			owner, name, ended = child, "child", child
		}
		held(t, "in the child", ofChild, inChild, owner, nil, name)
		held(t, "root's, in the child", ofRoot, inChild, root, nil, "root")
		held(t, "child's, after it", ofChild, afterChild, root, ended, "root")
		held(t, "child's, after the root", ofChild, afterRoot, outer, owner, "renamed")
		held(t, "root's, after it", ofRoot, afterRoot, outer, root, "renamed")
		held(t, "outer's, after root", ofOuter, afterRoot, outer, nil, "outer")
		held(t, "renamed outer's", ofRenamed, afterRoot, outer, nil, "renamed")
		held(t, "child's, after all", ofChild, afterOuter, nil, owner, "")
		held(t, "outer's, after all", ofOuter, afterOuter, nil, outer, "")
		held(t, "now", ofRenamed, math.MaxInt64, nil, outer, "")
		held(t, "none", nil, afterRoot, nil, nil, "")
	}
}

// Labels of the user's hold as they are, and come back after a span.
func TestUserLabelsHeldAtATime(t *testing.T) {
	tracer := heldTracer(t)
	pprof.Do(t.Context(), pprof.Labels("tenant", "a"), func(ctx context.Context) {
		user := goruntime.GoroutineLabels()
		_, span := tracer.Start(ctx, "span")
		of := goruntime.GoroutineLabels()
		span.End()
		for _, set := range []*labelMap{user, of} {
			if got, _ := livelabels.At(set, math.MaxInt64); got != user {
				t.Errorf("labels %v, want %v", got.Labels(), user.Labels())
			}
		}
	})
}

// Copies that pprof.Do makes, with labels of the user's, are of the span too.
func TestCopiedLabelsHeldAtATime(t *testing.T) {
	for _, all := range []bool{false, true} {
		tracer := heldTracer(t, WithRootSpanOnly(!all))
		goruntime.SetLabels(nil)
		ctx, root := tracer.Start(context.Background(), "root")
		var of *labelMap
		var entering context.Context
		pprof.Do(ctx, pprof.Labels("tenant", "a"), func(ctx context.Context) {
			of, entering = goruntime.GoroutineLabels(), ctx
			tracer.Start(ctx, "forgotten") // gives its labels back by pprof.Do's return
		})
		in := goruntime.Nanotime()
		root.End()
		held(t, "in pprof.Do", of, in, root, nil, "root")
		held(t, "pprof.Do's, after the root", of, goruntime.Nanotime(), nil, root, "")
		if got, _ := livelabels.At(of, math.MaxInt64); len(got.Labels()) != 1 || got.Find("tenant").Value != "a" {
			t.Errorf("after the root: %v, want the tenant alone", got.Labels())
		}
		Do(entering, func(context.Context) {
			held(t, "in a Do", goruntime.GoroutineLabels(), goruntime.Nanotime(), root, nil, "root")
		})
		held(t, "after the Do", of, goruntime.Nanotime(), nil, root, "")
		done := make(chan struct{})
		go func() { // an heir of the copy
			defer close(done)
			goruntime.SetLabels(of)
			_, child := tracer.Start(entering, "child")
			if !all {
				held(t, "in a child", of, goruntime.Nanotime(), root, nil, "root")
			}
			child.End()
		}()
		<-done
		held(t, "after a child", of, goruntime.Nanotime(), nil, root, "")
		goruntime.SetLabels(nil)
	}
	// Equal labels that are no copies are the user's.
	ids := "0123456789abcdef0123456789abcdef0123456789abcdef"
	user := &labelMap{List: []label{{Key: LabelSpanID, Value: ids[:16]}, {Key: LabelTraceID, Value: ids[16:]}}}
	if got, ended := livelabels.At(user, math.MaxInt64); got != user || ended != "" {
		t.Errorf("labels of the user's: %v, ended %q", got, ended)
	}
}

// What Go and Do run after the span's end still counts, and no longer.
func TestLabelsOfDoHeldAtATime(t *testing.T) {
	tracer := heldTracer(t)
	goruntime.SetLabels(nil)
	ctx, root := tracer.Start(context.Background(), "root")
	of := goruntime.GoroutineLabels()
	root.End()
	between := goruntime.Nanotime()
	var ofDo *labelMap
	var inDo int64
	Do(ctx, func(context.Context) {
		ofDo, inDo = goruntime.GoroutineLabels(), goruntime.Nanotime()
		held(t, "in Do", ofDo, inDo, root, nil, "root")
	})
	after := goruntime.Nanotime()
	held(t, "Do's, after it", ofDo, inDo, root, nil, "root")
	held(t, "Do's, later", ofDo, after, nil, root, "")
	held(t, "root's, after it", of, between, nil, root, "")
}

// Of two heirs that leave at once, and note it in the other order, the later time stays.
func TestLastHeirLeaves(t *testing.T) {
	var b labelBlock
	for _, at := range []int64{140, 100} {
		b.leftAt(at)
	}
	if got := b.left.Load(); got != 140 {
		t.Errorf("the last heir has left at %d, want 140", got)
	}
}

// In root scope a worker's child has labels of the root's; goroutines that it started
// have them while the root goes on.
func TestLabelsOfWorkersChildHeldAtATime(t *testing.T) {
	tracer := heldTracer(t)
	goruntime.SetLabels(nil)
	ctx, root := tracer.Start(context.Background(), "root")
	var of *labelMap
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.SetLabels(nil)
		_, child := tracer.Start(ctx, "child")
		of = goruntime.GoroutineLabels()
		child.End()
	}()
	<-done
	afterChild := goruntime.Nanotime()
	root.End()
	held(t, "after the child", of, afterChild, root, nil, "root")
	held(t, "after the root", of, goruntime.Nanotime(), nil, root, "")
}

// A TracerProvider that takes over a SpanProcessor's span does not end it.
func TestLabelsOfProcessorHeldAtATime(t *testing.T) {
	heldTracer(t)
	taken := &takesLabels{}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewSpanProcessor()), sdktrace.WithSpanProcessor(taken))
	goruntime.SetLabels(nil)
	_, span := NewTracerProvider(sdk).Tracer("test").Start(context.Background(), "span")
	at := goruntime.Nanotime()
	held(t, "in the span", taken.labels, at, span, nil, "span")
	span.End()
	held(t, "in the span, later", taken.labels, at, span, nil, "span")
	held(t, "after the span", taken.labels, goruntime.Nanotime(), nil, span, "")
}

// takesLabels is a processor that keeps what the goroutine carries when a span starts.
type takesLabels struct {
	sdktrace.SpanProcessor
	labels *labelMap
}

func (l *takesLabels) OnStart(context.Context, sdktrace.ReadWriteSpan) {
	l.labels = goruntime.GoroutineLabels()
}
func (*takesLabels) OnEnd(sdktrace.ReadOnlySpan) {}
