// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !spanprof_public

package spanlabels

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

type values map[string]string

func (v values) user() values {
	user := values{}
	for key, value := range v {
		if !IsOwn(key) {
			user[key] = value
		}
	}
	return user
}

// with returns v overridden by others.
func (v values) with(others values) values {
	v = maps.Clone(v)
	maps.Copy(v, others)
	return v
}

// modelSet is a label set of the model: of a block, or a foreign one. It has a
// list of all that was under it where the Block has one pointer.
type modelSet struct {
	foreign   bool
	labels    values      // the newest
	first     values      // at the start
	under     []*modelSet // the lowest first
	root      *modelSpan  // nil for foreign sets and in Do
	goroutine *modelGoroutine
	outer     bool      // no block of root right under it on the goroutine
	parent    *modelSet // the block under it if ctx is of that, and both are of root
	ended     int       // the step, 0 before
}

// at returns the highest set of a list that had not ended after a step.
func at(list []*modelSet, step int) *modelSet {
	for _, s := range slices.Backward(list) {
		if s.foreign || s.ended == 0 || step < s.ended {
			return s
		}
	}
	return nil
}

func (s *modelSet) list() []*modelSet {
	if s == nil {
		return nil
	}
	return append(slices.Clip(s.under), s)
}

func (s *modelSet) current() values {
	if s == nil {
		return values{}
	}
	return s.labels
}

type modelGoroutine struct {
	name    int
	do      chan func()
	done    chan struct{}
	carries *modelSet
	shown   values // the labels when they were put there
	leave   []func()
}

func (g *modelGoroutine) put(s *modelSet) { g.carries, g.shown = s, s.current() }

func (g *modelGoroutine) run(f func()) {
	g.do <- f
	<-g.done
}

func (g *modelGoroutine) serve() {
	for f := range g.do {
		if f == nil {
			return
		}
		f()
		g.done <- struct{}{}
	}
}

// modelContext is a context and the set that it has.
type modelContext struct {
	context.Context
	set *modelSet
}

// blockContext has the labels of a block, as the context of a span.
type blockContext struct {
	context.Context
	block *Block
}

func (c blockContext) Value(key any) any {
	if key == goruntime.LabelsKey {
		return c.block.ContextValue()
	}
	return c.Context.Value(key)
}

type modelSpan struct {
	name  string
	ctx   modelContext
	root  *modelSpan
	set   *modelSet // nil if the span changed nothing
	block *Block
	v     Values
}

type modelSample struct {
	set     *labelSet
	carries *modelSet
	shown   values
	step    int
}

// history takes random steps on several goroutines, one at a time.
type history struct {
	r           *rand.Rand
	all, noID   bool
	step        int
	times       []int64 // after each step
	goroutines  []*modelGoroutine
	open, spans []*modelSpan
	contexts    []modelContext
	samples     []modelSample
	log         []string
	checks      int
}

func (h *history) logf(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// spawn starts a goroutine from another one, with its labels, or without any.
func (h *history) spawn(from *modelGoroutine) {
	g := &modelGoroutine{name: len(h.goroutines), do: make(chan func()), done: make(chan struct{})}
	h.goroutines = append(h.goroutines, g)
	if from == nil {
		go func() {
			goruntime.SetLabels(nil)
			g.serve()
		}()
		return
	}
	h.logf("g%d starts g%d", from.name, g.name)
	g.carries, g.shown = from.carries, from.shown
	from.run(func() { go g.serve() })
}

// block returns the model of a block on top of what g carries.
func (h *history) block(g *modelGoroutine, own values, ctx modelContext, root *modelSpan) *modelSet {
	prev := at(g.carries.list(), math.MaxInt)
	labels := own.with(prev.current().user()).with(ctx.set.current().user())
	s := &modelSet{labels: labels, first: labels, under: g.carries.list(), root: root, goroutine: g}
	s.outer = prev == nil || prev.root != root || prev.goroutine != g
	if !s.outer && prev == ctx.set {
		s.parent = prev
	}
	return s
}

func (h *history) start(g *modelGoroutine, parent *modelSpan, ctx modelContext) {
	s := &modelSpan{name: fmt.Sprintf("s%d", h.step)}
	s.v = Values{Span: [8]byte([]byte(fmt.Sprintf("%08d", h.step))), Trace: [16]byte{15: byte(h.step)}, SpanID: !h.noID, TraceID: true, Name: s.name, Start: int64(h.step)}
	var root *Block
	if s.root = s; parent != nil {
		s.root = parent.root
		root = s.root.block
		s.v.Trace = s.root.v.Trace
		if !h.all {
			s.v.Span, s.v.Name = s.root.v.Span, s.root.set.labels[keyName]
		}
	}
	h.logf("g%d starts %s under %v", g.name, s.name, parent != nil && parent.root != nil)
	h.open, h.spans = append(h.open, s), append(h.spans, s)
	s.ctx = ctx
	if r := s.root.set; parent != nil && !h.all && r.ended == 0 && r.goroutine == g && g.carries != nil && g.carries == ctx.set && g.carries.ended == 0 &&
		g.shown[keySpan] == r.labels[keySpan] && g.shown[keyTrace] == r.labels[keyTrace] {
		g.run(func() {
			if !Inherits(ctx, root) {
				h.logf("WRONG: Inherits is false")
			}
		})
		return
	}
	own := values{keyName: s.v.Name, keyTrace: fmt.Sprintf("%x", s.v.Trace)}
	if !h.noID {
		own[keySpan] = fmt.Sprintf("%x", s.v.Span)
		own[keyProfile] = own[keySpan]
	}
	s.set = h.block(g, own, ctx, s.root)
	g.put(s.set)
	g.run(func() {
		if parent != nil && !h.all && Inherits(ctx, root) {
			h.logf("WRONG: Inherits is true")
		}
		s.block = Start(ctx, root, &s.v)
	})
	s.ctx = modelContext{blockContext{ctx, s.block}, s.set}
	h.contexts = append(h.contexts, s.ctx)
}

func (h *history) end(g *modelGoroutine, s *modelSpan) {
	h.logf("g%d ends %s", g.name, s.name)
	h.open = slices.DeleteFunc(h.open, func(other *modelSpan) bool { return s == other })
	if s.set == nil {
		return
	}
	g.run(func() { s.block.End() })
	b, list := s.set, g.carries.list()
	if b.ended != 0 {
		g.put(at(list, math.MaxInt))
		return
	}
	place := slices.Index(list, b)
	if b.goroutine == g && (s.root == s || place >= 0 && b.outer) {
		descendants := map[*modelSet]bool{b: true}
		for _, above := range list[place+1:] {
			descendants[above] = above.ended == 0 && above.goroutine == g &&
				(s.root == s && above.root == s || s.root != s && above.parent != nil && descendants[above.parent])
			if descendants[above] {
				above.ended = h.step
			}
		}
	}
	b.ended = h.step
	held, back := at(list, math.MaxInt), at(b.under, math.MaxInt)
	if held != nil && held.foreign && held != back {
		held = take(held, b, back.current())
	}
	g.put(held)
}

// take is what is left of a foreign set at the End of a span with the block b.
func take(foreign, b *modelSet, back values) *modelSet {
	own := b.labels
	same := func(key string) bool {
		mine, ok := own[key]
		return ok && foreign.labels[key] == mine || key == keyName && foreign.labels[key] == b.first[key]
	}
	_, hasID := own[keySpan]
	if hasID && !same(keySpan) && !same(keyProfile) || !hasID && (!same(keyTrace) || !same(keyName)) {
		return foreign
	}
	left := maps.Clone(foreign.labels)
	for key := range left {
		if IsOwn(key) && same(key) {
			delete(left, key)
		}
	}
	for key, value := range back {
		if _, ok := left[key]; !ok && IsOwn(key) {
			left[key] = value
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &modelSet{foreign: true, labels: left}
}

func (h *history) rename(g *modelGoroutine, s *modelSpan) {
	if s.set == nil {
		return
	}
	h.logf("g%d renames %s", g.name, s.name)
	name := fmt.Sprintf("n%d", h.step)
	s.set.labels = s.set.labels.with(values{keyName: name})
	if g.carries == s.set {
		g.shown = s.set.labels
	}
	g.run(func() { s.block.Rename(name) })
}

// enter begins a call that leave ends, with all that g is sent meanwhile.
func (h *history) enter(g *modelGoroutine, call func(f func(context.Context)), leave func()) {
	g.leave = append(g.leave, leave)
	g.do <- func() {
		call(func(context.Context) {
			g.done <- struct{}{}
			g.serve()
		})
	}
	<-g.done
}

func (h *history) leave(g *modelGoroutine) {
	h.logf("g%d returns", g.name)
	leave := g.leave[len(g.leave)-1]
	g.leave = g.leave[:len(g.leave)-1]
	g.do <- nil
	<-g.done
	leave()
}

// enterDo is a Do with ctx, enterPprofDo a pprof.Do.
func (h *history) enterDo(g *modelGoroutine, ctx modelContext) {
	if ctx.set == nil {
		return
	}
	h.logf("g%d does", g.name)
	own := maps.Clone(ctx.set.labels)
	if maps.Equal(own, own.user()) {
		own = maps.Clone(at(g.carries.list(), math.MaxInt).current())
	}
	maps.DeleteFunc(own, func(key, _ string) bool { return !IsOwn(key) })
	b := h.block(g, own, ctx, nil)
	h.enter(g, func(f func(context.Context)) { Do(ctx, f) }, func() {
		b.ended = h.step
		if list := g.carries.list(); slices.Contains(list, b) {
			g.put(at(list, math.MaxInt))
			return
		}
		g.put(at(b.under, math.MaxInt))
	})
	g.put(b)
}

func (h *history) enterPprofDo(g *modelGoroutine, ctx modelContext) {
	h.logf("g%d does by pprof", g.name)
	inner := h.derive(ctx)
	h.enter(g, func(f func(context.Context)) {
		pprof.Do(ctx, pprof.Labels(h.label()...), func(ctx context.Context) {
			*inner.Context.(*lateContext) = lateContext{ctx}
			f(ctx)
		})
	}, func() { g.put(ctx.set) })
	g.put(inner.set)
}

// lateContext is a context that is known later.
type lateContext struct{ context.Context }

// label is the user's label that the current step adds.
func (h *history) label() []string {
	if h.step%8 == 0 {
		return []string{keyProfile, "mine"}
	}
	return []string{fmt.Sprintf("u%d", h.step%3), fmt.Sprint(h.step)}
}

// derive returns ctx with a label of the user's.
func (h *history) derive(ctx modelContext) modelContext {
	l := h.label()
	inner := modelContext{
		&lateContext{pprof.WithLabels(ctx, pprof.Labels(l...))},
		&modelSet{foreign: true, labels: ctx.set.current().with(values{l[0]: l[1]})},
	}
	h.contexts = append(h.contexts, inner)
	return inner
}

func valuesOf(m *labelSet) values {
	v := values{}
	for _, l := range m.Labels() {
		v[l.Key] = l.Value
	}
	return v
}

// check compares all goroutines, and samples one.
func (h *history) check() error {
	sampled := pick(h.r, h.goroutines)
	for _, g := range h.goroutines {
		var set *labelSet
		g.run(func() { set = goruntime.GoroutineLabels() })
		h.checks++
		if got := valuesOf(set); !maps.Equal(got, g.shown) {
			return fmt.Errorf("g%d carries %v, want %v", g.name, got, g.shown)
		}
		if !slices.IsSortedFunc(set.Labels(), func(a, b label) int { return strings.Compare(a.Key, b.Key) }) {
			return fmt.Errorf("g%d carries %v, which is not sorted", g.name, set.List)
		}
		if g == sampled {
			h.samples = append(h.samples, modelSample{set, g.carries, g.shown, h.step})
		}
	}
	for now := goruntime.Nanotime(); ; {
		if next := goruntime.Nanotime(); next > now {
			h.times = append(h.times, next)
			return nil
		}
	}
}

// checkSamples compares At for each sample at several times.
func (h *history) checkSamples() error {
	for _, s := range h.samples {
		for _, step := range []int{s.step, s.step + h.r.IntN(h.step-s.step), math.MaxInt} {
			time := int64(math.MaxInt64)
			if step < len(h.times) {
				time = h.times[step]
			}
			held, ended := At(s.set, time)
			model := at(s.carries.list(), step)
			want, wantEnded := model.current(), s.shown[keySpan]
			if model == s.carries {
				want = s.shown
			}
			if want[keySpan] == wantEnded {
				wantEnded = ""
			}
			h.checks++
			if got := valuesOf(held); !maps.Equal(got, want) || ended != wantEnded {
				return fmt.Errorf("a sample of step %d: after step %d %v, ended %q, want %v, %q", s.step, step, got, ended, want, wantEnded)
			}
		}
	}
	return nil
}

func (h *history) randomStep() {
	g := pick(h.r, h.goroutines)
	ctx := pick(h.r, h.contexts)
	switch n := h.r.IntN(24); {
	case len(h.open) == 0 || n == 0:
		h.start(g, nil, ctx)
	case n < 8:
		parent := pick(h.r, h.open)
		if h.r.IntN(6) == 0 {
			parent = pick(h.r, h.spans)
		}
		if h.r.IntN(4) > 0 {
			ctx = parent.ctx
		}
		h.start(g, parent, ctx)
	case n < 14:
		s := pick(h.r, h.open)
		if s.set != nil && h.r.IntN(3) > 0 {
			g = s.set.goroutine
		}
		h.end(g, s)
	case n < 15:
		h.rename(g, pick(h.r, h.spans))
	case n < 17 && len(h.goroutines) < 6:
		h.spawn(g)
	case n < 18:
		h.derive(ctx)
	case n < 19:
		h.logf("g%d sets labels", g.name)
		g.put(ctx.set)
		g.run(func() { pprof.SetGoroutineLabels(ctx) })
	case n < 21 && len(g.leave) < 3:
		h.enterDo(g, ctx)
	case n < 23 && len(g.leave) < 3:
		h.enterPprofDo(g, ctx)
	case len(g.leave) > 0:
		h.leave(g)
	}
}

func (h *history) run() error {
	defer func() {
		for _, g := range h.goroutines {
			for range g.leave {
				g.do <- nil
				<-g.done
			}
			close(g.do)
		}
	}()
	h.contexts = []modelContext{{context.Background(), nil}}
	h.spawn(nil)
	h.spawn(nil)
	h.times = []int64{0}
	for h.step = 1; h.step < 48; h.step++ {
		h.randomStep()
		if err := h.check(); err != nil {
			return err
		}
	}
	for ; len(h.open) > 0; h.step++ {
		h.end(pick(h.r, h.goroutines), pick(h.r, h.open))
		if err := h.check(); err != nil {
			return err
		}
	}
	for _, g := range h.goroutines {
		for ; len(g.leave) > 0; h.step++ {
			h.leave(g)
			if err := h.check(); err != nil {
				return err
			}
		}
	}
	for _, line := range h.log {
		if strings.HasPrefix(line, "WRONG") {
			return fmt.Errorf("%s", line)
		}
	}
	return h.checkSamples()
}

// runHistory returns the number of checks of a random history.
func runHistory(t *testing.T, seed uint64) int {
	t.Helper()
	TimesKept.Store(true)
	h := &history{r: rand.New(rand.NewPCG(seed, 7)), all: seed%2 == 0, noID: seed%8 == 7}
	if err := h.run(); err != nil {
		t.Fatalf("seed %d, all spans %t: %s: %v", seed, h.all, strings.Join(h.log, ", "), err)
	}
	return h.checks
}

// Random histories have the labels of the model.
func TestHistories(t *testing.T) {
	for seed := range uint64(400) {
		runHistory(t, seed)
	}
}
