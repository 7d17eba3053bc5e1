// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"runtime/pprof"
)

// publicLabeler uses the public API of runtime/pprof alone, for a runtime that is not as
// expected. It cannot see what the goroutine carries, so it takes the span's context for
// the truth: [WithPublicLabelsOnly] says what follows.
type publicLabeler struct{}

var _ labeler = publicLabeler{}

func (publicLabeler) start(ctx context.Context, s *spanState, name string) {
	s.started = ctx
	s.setPublic(name)
}

func (publicLabeler) inherit(ctx context.Context, s *spanState) {
	s.started = ctx
	root := s.root.publicContext()
	if !agree(ctx, root, LabelSpanID) || !agree(ctx, root, LabelTraceID) {
		s.setPublic(labelIn(root, LabelSpanName))
		return
	}
	putPublic(ctx)
}

func (publicLabeler) rename(s *spanState, name string) { s.setPublic(name) }

func (publicLabeler) end(s *spanState) bool {
	putPublic(s.before())
	return true
}

// abandon does nothing: other goroutines' labels are out of reach.
func (publicLabeler) abandon(*spanState) {}

// settle does nothing, as it does not see what the goroutine carries.
func (publicLabeler) settle() {}

// givenUp is false, as it does not see which goroutine a span is on.
func (publicLabeler) givenUp(*spanState) bool { return false }

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

func (publicLabeler) enter(ctx context.Context) entered {
	putPublic(ctx)
	s, _ := ctx.Value(stateKey{}).(*spanState)
	if s != nil {
		s.entered.Add(1)
	}
	return entered{span: s}
}

func (publicLabeler) leave(e entered) {
	if e.span != nil {
		e.span.entered.Add(-1)
	}
	putPublic(context.Background())
}

// maxEnded bounds how many ended spans before looks behind.
const maxEnded = 32

// before returns the context whose labels End puts on the goroutine: the one that s was
// started with or, where the span in it has ended, the one which that was started with,
// and so on, with the user's labels of the former. While a Do has the labels of an ended
// span on a goroutine, which may be this one, they stay.
func (s *spanState) before() context.Context {
	ctx := s.started
	for n := range maxEnded {
		parent, ok := ctx.Value(stateKey{}).(*spanState)
		if !ok || parent.started == nil || !parent.ended.Load() || parent.entered.Load() > 0 {
			if n == 0 {
				return ctx
			}
			return withUserLabelsOf(ctx, s.started)
		}
		ctx = parent.started
	}
	return withUserLabelsOf(context.Background(), s.started)
}

// withUserLabelsOf returns ctx with the labels of the user's that another context has.
func withUserLabelsOf(ctx, other context.Context) context.Context {
	var kv []string
	pprof.ForLabels(other, func(key, value string) bool {
		if !isSpanLabel(key) {
			kv = append(kv, key, value)
		}
		return true
	})
	if len(kv) == 0 {
		return ctx
	}
	return pprof.WithLabels(ctx, pprof.Labels(kv...))
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
	for _, l := range s.appendLabels(labels[:0], &publicIDKeys, ids, name) {
		kv = append(kv, l.Key, l.Value)
	}
	labelled := pprof.WithLabels(s.started, pprof.Labels(kv...))
	s.public.Store(labelled)
	putPublic(labelled)
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
