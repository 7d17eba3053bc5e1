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
// started last among those that have not ended. A local root that ends gives up its
// descendants, which may end later or never.
type model struct {
	tracer    trace.Tracer
	all       bool
	open      []*modelSpan
	forgotten []*modelSpan
	log       []string
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
	ended := m.open[i]
	ended.span.End()
	m.log = append(m.log, "end "+ended.name)
	m.open = slices.DeleteFunc(m.open, func(s *modelSpan) bool {
		if s != ended && s.root == ended {
			m.forgotten = append(m.forgotten, s)
		}
		return s == ended || s.root == ended
	})
}

// endLate ends a span that was given up.
func (m *model) endLate(i int) {
	m.forgotten[i].span.End()
	m.log = append(m.log, "end late "+m.forgotten[i].name)
	m.forgotten = slices.Delete(m.forgotten, i, i+1)
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
			m.end(r.IntN(len(m.open)))
		case n < 9 && len(m.forgotten) > 0:
			m.endLate(r.IntN(len(m.forgotten)))
		default:
			m.rename(m.open[r.IntN(len(m.open))], fmt.Sprintf("n%d", step))
		}
		if err := m.check(); err != nil {
			return err
		}
	}
	for len(m.open) > 0 {
		m.end(r.IntN(len(m.open)))
		if err := m.check(); err != nil {
			return err
		}
	}
	return nil
}
