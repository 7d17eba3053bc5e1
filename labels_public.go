// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"runtime/pprof"
)

// publicLabeler uses the public API of runtime/pprof alone, for a runtime that is not
// as expected. It cannot see what the goroutine carries, so
// it takes the span's context for the truth: End puts the labels of the
// context that Start was given on the goroutine that calls End, whichever that
// is and whatever it carried, and SetName labels the goroutine that calls it.
type publicLabeler struct{}

var _ labeler = publicLabeler{}

func (publicLabeler) start(ctx context.Context, s *spanState, name string) {
	s.started = ctx
	s.setPublic(name) //nolint:contextcheck // has it from s
}

func (publicLabeler) inherit(ctx context.Context, s *spanState) {
	s.started = ctx
	root := s.root.publicContext()
	if !agree(ctx, root, LabelSpanID) || !agree(ctx, root, LabelTraceID) {
		s.setPublic(labelIn(root, LabelSpanName)) //nolint:contextcheck // has it from s
		return
	}
	pprof.SetGoroutineLabels(ctx)
}

func (publicLabeler) rename(s *spanState, name string) { s.setPublic(name) }

func (publicLabeler) end(s *spanState) bool {
	pprof.SetGoroutineLabels(s.started)
	return true
}

// abandon does nothing: other goroutines' labels are out of reach.
func (publicLabeler) abandon(*spanState) {}

// settle does nothing, as it does not see what the goroutine carries.
func (publicLabeler) settle() {}

func (publicLabeler) name(s *spanState) string { return labelIn(s.publicContext(), LabelSpanName) }

func (publicLabeler) profileID(s *spanState) string {
	return labelIn(s.publicContext(), LabelProfileID)
}

func (publicLabeler) hasUserLabels(s *spanState) (found bool) {
	pprof.ForLabels(s.publicContext(), func(key, _ string) bool {
		found = !isSpanLabel(key)
		return !found
	})
	return found
}

func (publicLabeler) contextValue(s *spanState) any {
	if labelled := s.publicContext(); labelled != nil {
		return labelled.Value(pprofLabelsKey)
	}
	return s.ctx.Context.Value(pprofLabelsKey)
}

func (publicLabeler) enter(ctx context.Context) (leave func()) {
	pprof.SetGoroutineLabels(ctx)
	return func() { pprof.SetGoroutineLabels(context.Background()) }
}

// publicContext returns the context with the labels of s, nil if s has none of
// its own.
func (s *spanState) publicContext() context.Context {
	labelled, _ := s.public.Load().(context.Context)
	return labelled
}

// setPublic makes the labels of s anew, on those of the context that it was
// started with, and puts them on the goroutine.
func (s *spanState) setPublic(name string) {
	var digits [hexIDsLen]byte
	s.encodeIDs(&digits)
	ids := string(digits[:])

	var labels [4]label
	var args [8]string
	kv := args[:0]
	for _, l := range s.appendLabels(labels[:0], ids, name) {
		kv = append(kv, l.Key, l.Value)
	}
	labelled := pprof.WithLabels(s.started, pprof.Labels(kv...))
	s.public.Store(labelled)
	pprof.SetGoroutineLabels(labelled)
}

// agree reports whether two contexts have the same value of a label, or neither
// has one.
func agree(a, b context.Context, key string) bool {
	inA, okA := pprof.Label(a, key)
	inB, okB := pprof.Label(b, key)
	return inA == inB && okA == okB
}

func labelIn(ctx context.Context, key string) string {
	value, _ := pprof.Label(ctx, key)
	return value
}
