// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"runtime/pprof"
)

// publicLabeler uses the public API of runtime/pprof alone, for Go versions
// whose internals are not known. It cannot see what the goroutine carries, so
// it takes the span's context for the truth: End puts the labels of the
// context that Start was given on the goroutine that calls End, whichever that
// is and whatever it carried.
type publicLabeler struct{}

var _ labeler = publicLabeler{}

// publicLabels are the labels of a span. They do not change.
type publicLabels struct {
	ctx  context.Context // carries the labels for runtime/pprof
	name string
}

func (publicLabeler) start(ctx context.Context, s *spanState, name string) string {
	s.parentCtx = ctx
	return s.setPublic(ctx, name)
}

func (publicLabeler) inherit(ctx context.Context, s *spanState) {
	s.parentCtx = ctx
	root := s.root.public.Load()
	if !root.in(ctx, LabelSpanID) || !root.in(ctx, LabelTraceID) {
		s.setPublic(ctx, root.name)
		return
	}
	pprof.SetGoroutineLabels(ctx)
}

// in reports whether ctx agrees with l about a label.
func (l *publicLabels) in(ctx context.Context, key string) bool {
	got, inContext := pprof.Label(ctx, key)
	want, wanted := pprof.Label(l.ctx, key) //nolint:contextcheck // compared with ctx
	return got == want && inContext == wanted
}

func (publicLabeler) rename(s *spanState, name string) {
	s.setPublic(s.parentCtx, name)
}

func (publicLabeler) end(s *spanState) bool {
	if s.parentCtx != nil {
		pprof.SetGoroutineLabels(s.parentCtx)
	}
	return true
}

func (publicLabeler) name(s *spanState) string {
	if l := s.public.Load(); l != nil {
		return l.name
	}
	return ""
}

func (publicLabeler) contextValue(s *spanState) any {
	if l := s.public.Load(); l != nil {
		return l.ctx.Value(pprofLabelsKey)
	}
	return s.ctx.Context.Value(pprofLabelsKey)
}

// setPublic makes the labels of s anew on those of ctx, puts them on the
// goroutine and returns the value of LabelProfileID.
func (s *spanState) setPublic(ctx context.Context, name string) string {
	var digits [hexIDsLen]byte
	s.appendIDs(digits[:0])
	ids := string(digits[:])

	var labels [4]label
	var args [8]string
	kv := args[:0]
	for _, l := range s.appendLabels(labels[:0], ids, name) {
		kv = append(kv, l.Key, l.Value)
	}
	l := &publicLabels{ctx: pprof.WithLabels(ctx, pprof.Labels(kv...)), name: name}
	s.public.Store(l)
	pprof.SetGoroutineLabels(l.ctx) //nolint:contextcheck // l.ctx was made of ctx
	return ids[:16]
}
