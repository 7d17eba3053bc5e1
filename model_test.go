// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livelabels"
)

// history takes random steps on several goroutines, one step at a time, and says of each
// goroutine which labels it should carry, and of each sample whose it should be. It says
// so without pointers to label sets, by a list of all that has happened.
type history struct {
	r          *rand.Rand
	tracer     trace.Tracer
	all        bool
	plain      bool // without Do
	step       int
	goroutines []*goroutineModel
	open       []*spanModel // whose End may come, though they may have been given up
	spans      []*spanModel // all
	samples    []sampleModel
	log        []string
}

type goroutineModel struct {
	name    int
	do      chan func()
	done    chan struct{}
	carries carriedModel
	within  []doModel // calls of Do that have not returned
}

type doModel struct {
	found carriedModel
	block *blockModel // nil where the context had no labels
	leave chan struct{}
}

// carriedModel is what a goroutine carries: the labels of a block, of its span or of an heir.
type carriedModel struct {
	block *blockModel
	heir  bool
}

// blockModel are the labels of a span.
type blockModel struct {
	owner   *spanModel // whose ids they are
	root    *blockModel
	on      *goroutineModel
	prev    carriedModel // what comes back
	under   *blockModel  // what came back if nothing had ended meanwhile
	base    bool
	ended   int // the step, 0 before
	left    int // the step when the last heir left after that
	heirs   int
	nested  int // of the heirs those on the same goroutine
	givenUp bool
}

type spanModel struct {
	ctx    context.Context
	span   trace.Span
	name   string
	root   *spanModel
	block  *blockModel
	heir   bool
	nested bool
	found  carriedModel
}

type sampleModel struct {
	set     *labelMap
	carries carriedModel
	time    int64
	step    int
}

// on runs f on a goroutine and waits.
func (g *goroutineModel) run(f func()) {
	g.do <- f
	<-g.done
}

func (g *goroutineModel) serve() {
	for f := range g.do {
		f()
		g.done <- struct{}{}
	}
}

func (h *history) logf(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// spawn starts a goroutine: from another one, whose labels it inherits, or bare.
func (h *history) spawn(from *goroutineModel) {
	g := &goroutineModel{name: len(h.goroutines), do: make(chan func()), done: make(chan struct{})}
	h.goroutines = append(h.goroutines, g)
	if from == nil {
		go g.serve()
		g.run(func() { goruntime.SetLabels(nil) })
		return
	}
	h.logf("g%d starts g%d", from.name, g.name)
	g.carries = from.carries
	from.run(func() { go g.serve() })
}

func (h *history) live(c carriedModel) carriedModel {
	for b := c.block; b != nil; b = c.block {
		switch {
		case c.heir && b.heirs > 0:
			return c
		case b.ended != 0:
			c = b.prev
		default:
			return carriedModel{block: b}
		}
	}
	return carriedModel{}
}

func (h *history) start(g *goroutineModel, parent *spanModel) {
	s := &spanModel{name: fmt.Sprintf("s%d", h.step)}
	ctx := context.Background()
	if s.root = s; parent != nil {
		ctx, s.root = parent.ctx, parent.root
		h.logf("g%d starts %s under %s", g.name, s.name, parent.name)
	} else {
		h.logf("g%d starts %s", g.name, s.name)
	}
	found := g.carries
	if parent != nil && !h.all && found.block != nil && found.block.owner == s.root {
		s.block, s.heir, s.found = found.block, true, found
		s.block.heirs++
		if s.nested = s.block.on == g && !s.block.givenUp; s.nested {
			s.block.nested++
		}
		g.carries = carriedModel{s.block, true}
	} else {
		b := &blockModel{owner: s, on: g, prev: h.live(found), base: true}
		if b.root = b; parent != nil {
			b.root = s.root.block
			b.base = b.prev.block == nil || b.prev.block.root != b.root
			if !h.all {
				b.owner = s.root
			}
		}
		s.block, b.under = b, b.prev.block
		g.carries = carriedModel{block: b}
	}
	g.run(func() { s.ctx, s.span = h.tracer.Start(ctx, s.name) })
	h.open = append(h.open, s)
	h.spans = append(h.spans, s)
}

// end ends a span on a goroutine, whichever it started on.
func (h *history) end(g *goroutineModel, s *spanModel) {
	h.logf("g%d ends %s", g.name, s.name)
	h.open = slices.DeleteFunc(h.open, func(other *spanModel) bool { return s == other })
	g.run(func() { s.span.End() })
	b := s.block
	switch {
	case s.heir && s.nested && b.givenUp, !s.heir && b.ended != 0:
		g.carries = h.live(g.carries)
	case s.heir:
		if s.nested {
			b.nested--
		}
		h.leaveHeir(b)
		h.takeOff(g, b, true, s.found)
	default:
		b.prev = h.live(b.prev)
		if !h.endForAll(g, b) {
			h.takeOff(g, b, false, b.prev)
		}
		b.ended = h.step
	}
}

func (h *history) leaveHeir(b *blockModel) {
	if b.ended != 0 {
		b.left = h.step
	}
	b.heirs--
}

func (h *history) takeOff(g *goroutineModel, b *blockModel, heir bool, prev carriedModel) {
	for c := g.carries; c.block != nil; c = c.block.prev {
		if c.block == b && (c.heir && (heir || b.heirs == 0) || !c.heir && !heir) {
			g.carries = h.live(prev)
			return
		}
		if c.block.ended == 0 || c.heir && c.block.heirs > 0 {
			return
		}
	}
}

// endForAll ends the descendants too that the outermost span of a local root has on
// its goroutine.
func (h *history) endForAll(g *goroutineModel, b *blockModel) bool {
	if !b.base || b.on != g {
		return false
	}
	var above []*blockModel
	c := g.carries
	for ; c.block != nil && c.block != b; c = c.block.prev {
		above = append(above, c.block)
	}
	if c.block == nil {
		return false
	}
	top := g.carries
	forgotten := 0
	for _, at := range append(above, b) {
		if at.root != b.root {
			continue
		}
		if at == top.block {
			forgotten = at.nested
		}
		at.heirs, at.nested, at.givenUp = at.heirs-at.nested, 0, true
		if at != b && at.ended == 0 {
			at.ended = h.step
		}
	}
	var other *blockModel
	for _, at := range above {
		if at.root != b.root && (at.ended == 0 || at.heirs > 0) {
			other = at
		}
	}
	switch {
	case other != nil:
		other.prev = h.live(b.prev)
		g.carries = h.live(g.carries)
	case top.heir && top.block.heirs > 0 && forgotten == 0:
	default:
		g.carries = h.live(b.prev)
	}
	return true
}

// enter begins a Do with the context of a span.
func (h *history) enter(g *goroutineModel, s *spanModel) {
	h.logf("g%d does %s", g.name, s.name)
	d := doModel{found: g.carries, block: s.block, leave: make(chan struct{})}
	g.within = append(g.within, d)
	s.block.heirs++
	g.carries = carriedModel{s.block, true}
	g.do <- func() {
		Do(s.ctx, func(context.Context) {
			g.done <- struct{}{}
			for f := range g.do {
				if f == nil {
					return
				}
				f()
				g.done <- struct{}{}
			}
		})
	}
	<-g.done
}

func (h *history) leave(g *goroutineModel) {
	h.logf("g%d returns from Do", g.name)
	d := g.within[len(g.within)-1]
	g.within = g.within[:len(g.within)-1]
	g.do <- nil
	<-g.done
	h.leaveHeir(d.block)
	g.carries = h.live(d.found)
}

// held is whose labels held at a step on a goroutine that carried c then.
func (h *history) held(c carriedModel, step int) *spanModel {
	for b := c.block; b != nil; c, b = b.prev, b.prev.block {
		switch {
		case c.heir && (b.heirs > 0 || step < b.left), b.ended == 0 || step < b.ended:
			return b.owner
		case b.owner != b.root.owner:
		case b.root != b && (b.root.ended == 0 || step < b.root.ended):
			return b.owner
		}
	}
	return nil
}

// firstOpen is whose labels held in all-spans scope without Do: the newest of the spans that
// were on the goroutine and had not ended.
func (h *history) firstOpen(b *blockModel, step int) *spanModel {
	for ; b != nil; b = b.under {
		if b.ended == 0 || step < b.ended {
			return b.owner
		}
	}
	return nil
}

func idOf(s *spanModel) string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().SpanID().String()
}

// check compares all goroutines, and samples a random one.
func (h *history) check() error {
	sampled := h.goroutines[h.r.IntN(len(h.goroutines))]
	for _, g := range h.goroutines {
		var set *labelMap
		g.run(func() { set = goruntime.GoroutineLabels() })
		want := ""
		if g.carries.block != nil {
			want = idOf(g.carries.block.owner)
		}
		if got := spanIDOf(set); got != want {
			return fmt.Errorf("g%d carries labels of %q, want %q", g.name, got, want)
		}
		if g == sampled && set != nil {
			h.samples = append(h.samples, sampleModel{set, g.carries, goruntime.Nanotime(), h.step})
		}
	}
	return nil
}

// checkSamples asks of each sample, and of its goroutine at other times after it, whose it
// is.
func (h *history) checkSamples(times map[int]int64) error {
	for _, s := range h.samples {
		for _, at := range []int{s.step, s.step + h.r.IntN(h.step-s.step+1), math.MaxInt} {
			nanotime, ok := times[at]
			if !ok {
				nanotime = math.MaxInt64
			}
			labels, ended := livelabels.At(s.set, nanotime)
			want, wantEnded := idOf(h.held(s.carries, at)), ""
			if owner := idOf(s.carries.block.owner); owner != want {
				wantEnded = owner
			}
			if first := h.firstOpen(s.carries.block, at); h.all && h.plain && idOf(first) != want {
				return fmt.Errorf("the model differs at a sample of step %d: at step %d labels of %q, want %q", s.step, at, want, idOf(first))
			}
			if got := spanIDOf(labels); got != want || ended != wantEnded {
				return fmt.Errorf("a sample of step %d: at step %d labels of %q, ended %q, want %q, %q", s.step, at, got, ended, want, wantEnded)
			}
		}
	}
	return nil
}

func (h *history) run() error {
	times := map[int]int64{}
	tick := func() error {
		err := h.check()
		times[h.step] = goruntime.Nanotime()
		return err
	}
	defer func() {
		for _, g := range h.goroutines {
			for range g.within {
				g.do <- nil
				<-g.done
			}
			close(g.do)
		}
	}()
	for range 2 {
		h.spawn(nil)
	}
	for h.step = 1; h.step < 40; h.step++ {
		h.randomStep()
		if err := tick(); err != nil {
			return err
		}
	}
	for ; len(h.open) > 0; h.step++ {
		h.end(h.goroutines[h.r.IntN(len(h.goroutines))], h.open[h.r.IntN(len(h.open))])
		if err := tick(); err != nil {
			return err
		}
	}
	for _, g := range h.goroutines {
		for ; len(g.within) > 0; h.step++ {
			h.leave(g)
			if err := tick(); err != nil {
				return err
			}
		}
	}
	if err := h.checkSamples(times); err != nil {
		return err
	}
	// What is left is gone after the next span.
	for _, g := range h.goroutines {
		var left *labelMap
		g.run(func() {
			_, span := h.tracer.Start(context.Background(), "next")
			span.End()
			left = goruntime.GoroutineLabels()
		})
		if left != nil {
			return fmt.Errorf("g%d keeps %v", g.name, left.List)
		}
	}
	return nil
}

// anySpan returns an open span mostly, and else any.
func (h *history) anySpan() *spanModel {
	if h.r.IntN(6) == 0 {
		return h.spans[h.r.IntN(len(h.spans))]
	}
	return h.open[h.r.IntN(len(h.open))]
}

func (h *history) randomStep() {
	g := h.goroutines[h.r.IntN(len(h.goroutines))]
	switch n := h.r.IntN(20); {
	case len(h.open) == 0 || n == 0:
		h.start(g, nil)
	case n < 8:
		h.start(g, h.anySpan())
	case n < 14:
		s := h.open[h.r.IntN(len(h.open))]
		if h.r.IntN(3) > 0 {
			g = s.block.on
		}
		h.end(g, s)
	case n < 16 && len(h.goroutines) < 6:
		h.spawn(g)
	case n < 18 && len(g.within) < 3 && !h.plain:
		h.enter(g, h.anySpan())
	case len(g.within) > 0:
		h.leave(g)
	}
}

// TestHistories runs random histories: for as long as SPANPROF_MODEL_TIME says, 200 of each
// scope without it.
func TestHistories(t *testing.T) {
	if !ReadsGoroutineLabels() {
		t.Skip("the public API does not tell which labels a goroutine carries")
	}
	seeds := uint64(200)
	deadline := time.Time{}
	if d, err := time.ParseDuration(os.Getenv("SPANPROF_MODEL_TIME")); err == nil {
		seeds, deadline = math.MaxUint64, time.Now().Add(d)
	}
	var all sync.WaitGroup
	for worker := range uint64(4) {
		all.Go(func() {
			n := uint64(0)
			for seed := worker; seed < seeds && (deadline.IsZero() || time.Now().Before(deadline)) && !t.Failed(); seed += 4 {
				for _, all := range []bool{false, true} {
					h := &history{
						r: rand.New(rand.NewPCG(seed, 7)), all: all, plain: seed/4%2 == 0,
						tracer: NewTracerProvider(sdktrace.NewTracerProvider(), WithRootSpanOnly(!all)).Tracer("test"),
					}
					if err := h.run(); err != nil {
						t.Errorf("all spans %t, seed %d: %s: %v", all, seed, strings.Join(h.log, ", "), err)
					}
					n += uint64(h.step)
				}
			}
			t.Logf("%d steps", n)
		})
	}
	all.Wait()
}
