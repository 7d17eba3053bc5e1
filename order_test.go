// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// model is what a goroutine should carry: the labels of the span that was
// started last among those that have not ended.
type model struct {
	tracer trace.Tracer
	all    bool
	open   []*modelSpan
	log    []string
}

type modelSpan struct {
	ctx  context.Context
	span trace.Span
	name string
	root *modelSpan
}

func (m *model) start(parent *modelSpan, name string) {
	s := &modelSpan{name: name}
	ctx := context.Background()
	s.root = s
	if parent != nil {
		ctx, s.root = parent.ctx, parent.root
	}
	s.ctx, s.span = m.tracer.Start(ctx, name)
	m.open = append(m.open, s)
	m.log = append(m.log, "start "+name)
}

func (m *model) end(i int) {
	m.open[i].span.End()
	m.log = append(m.log, "end "+m.open[i].name)
	m.open = slices.Delete(m.open, i, i+1)
}

func (m *model) rename(s *modelSpan, name string) {
	m.log = append(m.log, fmt.Sprintf("rename %s to %s", s.name, name))
	s.span.SetName(name)
	s.name = name
}

func (m *model) check() error {
	want := ""
	if len(m.open) > 0 {
		s := m.open[len(m.open)-1]
		if !m.all {
			s = s.root
		}
		want = s.span.SpanContext().SpanID().String() + " " + s.name
	}
	got := ""
	if carried := goruntime.GoroutineLabels(); carried != nil {
		got = carried.Find(LabelSpanID).Value + " " + carried.Find(LabelSpanName).Value
	}
	if got != want {
		return fmt.Errorf("%s: labels of %q, want %q", strings.Join(m.log, ", "), got, want)
	}
	return nil
}

// canEnd reports whether the model holds after the i-th open span ends. In root
// scope it does not where a local root ends while descendants are open, as they
// may then end out of order.
func (m *model) canEnd(i int) bool {
	s := m.open[i]
	return m.all || s.root != s || !slices.ContainsFunc(m.open, func(other *modelSpan) bool { return other != s && other.root == s })
}

// TestAnyOrder starts, ends and renames spans on one goroutine in random orders.
func TestAnyOrder(t *testing.T) {
	if !ReadsGoroutineLabels() {
		t.Skip("the public API does not tell which labels a goroutine carries")
	}
	for _, all := range []bool{false, true} {
		// Each new root is on top of what is there: of two overlapping local
		// roots, descendants of the lower one do not tell which is newer.
		for seed := range uint64(2000) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := &model{all: all, tracer: NewTracerProvider(sdktrace.NewTracerProvider(), WithRootSpanOnly(!all)).Tracer("test")}
			done := make(chan error)
			go func() {
				goruntime.SetLabels(nil)
				done <- m.walk(r)
			}()
			if err := <-done; err != nil {
				t.Fatalf("all spans %t, seed %d: %v", all, seed, err)
			}
		}
	}
}

// walk takes random steps.
func (m *model) walk(r *rand.Rand) error {
	for step := range 24 {
		switch n := r.IntN(10); {
		case len(m.open) == 0:
			m.start(nil, fmt.Sprintf("r%d", step))
		case n < 4:
			var parent *modelSpan
			if m.all || n > 0 {
				parent = m.open[r.IntN(len(m.open))]
			}
			if parent == nil || m.all || parent.root == m.open[len(m.open)-1].root {
				m.start(parent, fmt.Sprintf("s%d", step))
			}
		case n < 8:
			if i := r.IntN(len(m.open)); m.canEnd(i) {
				m.end(i)
			}
		default:
			m.rename(m.open[r.IntN(len(m.open))], fmt.Sprintf("n%d", step))
		}
		if err := m.check(); err != nil {
			return err
		}
	}
	for len(m.open) > 0 {
		if i := r.IntN(len(m.open)); m.canEnd(i) {
			m.end(i)
			if err := m.check(); err != nil {
				return err
			}
		}
	}
	return nil
}
