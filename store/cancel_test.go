// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// leaving is the context of a client that leaves after it was asked for some times.
type leaving struct {
	context.Context
	left int
}

func (l *leaving) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// Conditions on attributes are not tried on all spans once the client has left.
func TestAttributeConditionsEnd(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	for i := range 1000 {
		_, span := tracer.Start(t.Context(), "GET /", at(0), trace.WithAttributes(attribute.Int("http.response.status_code", i)))
		span.End(at(1))
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
	m, err := store.NewMatcher("span.http.response.status_code", store.MatchRegexp, ".*1")
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(store.View) error{
		"Spans": func(v store.View) error {
			_, err := v.Spans(store.SpanQuery{Attributes: []store.Matcher{m}})
			return err
		},
		"Select": func(v store.View) error {
			_, err := v.Select(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
			return err
		},
	} {
		ctx := &leaving{t.Context(), 10}
		v, err := s.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(v); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		v.Close()
	}
}

// counting is a context that ends after it was asked for some times, and counts how often
// it is asked.
type counting struct {
	context.Context
	ends, asked int
}

func (c *counting) Err() error {
	if c.asked++; c.asked > c.ends {
		return context.Canceled
	}
	return nil
}

// Each kind of query looks often whether its client has left, and stops once it has.
func TestQueriesEnd(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	g := newGenerator()
	for i := range 10 {
		export(t, s, inWindow(i, exporter.KindCPU, g.profile(2000)))
	}
	for i := range 2000 {
		_, span := tracer.Start(t.Context(), "GET /", at(0), trace.WithAttributes(attribute.Int("http.response.status_code", i)))
		span.End(at(1))
	}
	key := "span.http.response.status_code"
	q := func(m ...store.Matcher) store.Query { return store.Query{Kind: exporter.KindCPU, Matchers: m} }
	for name, ask := range map[string]func(store.View) error{
		"Spans": func(v store.View) error {
			_, err := v.Spans(store.SpanQuery{Contains: "x"})
			return err
		},
		"NameSpreads": func(v store.View) error {
			_, err := v.(store.Measured).NameSpreads(store.SpanQuery{})
			return err
		},
		"LabelTotals": func(v store.View) error {
			_, err := v.(store.Measured).LabelTotals(q())
			return err
		},
		"Spans by attribute": func(v store.View) error {
			_, err := v.Spans(store.SpanQuery{Attributes: []store.Matcher{matcher(t, key, store.MatchRegexp, ".*1")}})
			return err
		},
		"Spans below": func(v store.View) error {
			_, err := v.Spans(store.SpanQuery{Below: "0000000000000001"})
			return err
		},
		"NameTotals": func(v store.View) error { _, err := v.NameTotals(); return err },
		"Select":     func(v store.View) error { _, err := v.Select(q()); return err },
		"Select by expression": func(v store.View) error {
			_, err := v.Select(q(matcher(t, "span_id", store.MatchRegexp, ".*1")))
			return err
		},
		"Select by list": func(v store.View) error {
			_, err := v.Select(q(matcher(t, "span_id", store.MatchRegexp, "1|2")))
			return err
		},
		"Select by attribute": func(v store.View) error { _, err := v.Select(q(matcher(t, key, store.MatchRegexp, ".*1"))); return err },
		"Profile":             func(v store.View) error { _, err := v.Profile(q()); return err },
		"Pprof":               func(v store.View) error { _, err := v.(store.Encoder).Pprof(q()); return err },
		"Timeline": func(v store.View) error {
			_, err := v.Timeline(q(matcher(t, "span_id", store.MatchRegexp, ".*1")), 5)
			return err
		},
		"Kinds": func(v store.View) error {
			_, err := v.Kinds(q(matcher(t, "span_name", store.MatchRegexp, ".*1.*")))
			return err
		},
		"AttributeKeys": func(v store.View) error { _, err := v.(store.Attributed).AttributeKeys(); return err },
		"AttributeTotals": func(v store.View) error {
			_, err := v.(store.Attributed).AttributeTotals(key)
			return err
		},
	} {
		run := func(ends int) (asked int, err error) {
			ctx := &counting{Context: t.Context(), ends: 1 << 30}
			v, err := s.View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			ctx.asked, ctx.ends = 0, ends
			err = ask(v)
			return ctx.asked, err
		}
		all, err := run(1 << 30)
		if err != nil || all < 5 {
			t.Errorf("%s: asked %d times whether its client has left, want 5 at least (%v)", name, all, err)
		}
		for _, ends := range []int{all / 4, all / 2} {
			if asked, err := run(ends); !errors.Is(err, context.Canceled) || asked > ends+5 {
				t.Errorf("%s: asked %d times, although the client had left after %d of %d: %v", name, asked, ends, all, err)
			}
		}
	}
}

// pricedStore returns a store with 200,000 samples, four in five of which have ids.
func pricedStore(t *testing.T) *store.Store {
	t.Helper()
	s := newStore(t)
	g := newGenerator()
	for i := range 40 {
		export(t, s, inWindow(i, exporter.KindCPU, g.profile(5000)))
	}
	return s
}

// An expression that would run for seconds is refused, with its price; a list is not.
func TestPriceOfExpressions(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	s := pricedStore(t)
	long := "(0|1|2|3|4)[a-f]{8}.*[0-9]{4}.*(a|b|c)x"
	for _, op := range []store.MatchOp{store.MatchRegexp, store.MatchNotRegexp} {
		q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "trace_id", op, long)}}
		for name, ask := range map[string]func() error{
			"Select":   func() error { _, err := s.Select(q); return err },
			"Profile":  func() error { _, err := s.Profile(q); return err },
			"Timeline": func() error { _, err := s.Timeline(q, 3); return err },
		} {
			if err := ask(); !errors.Is(err, store.ErrTooExpensive) || !strings.Contains(err.Error(), "million is the budget") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, cheap := range []string{".*1", "0.*", "00000000000000c1|00000000000000c2"} {
		if _, err := s.Select(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_id", store.MatchRegexp, cheap)}}); err != nil {
			t.Errorf("%s: %v", cheap, err)
		}
	}
}

// The queries of a view have one budget. Equal conditions cost once, for what they are tried
// on once.
func TestPriceOfView(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	s := pricedStore(t)
	ask := func(v store.View, value string, from, until int) error {
		q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_id", store.MatchRegexp, value)}}
		q.From, q.Until = epoch.Add(time.Duration(from)*step), epoch.Add(time.Duration(until)*step)
		_, err := v.Select(q)
		return err
	}
	// No id begins like that, so that only the price is high.
	expression := func(i int) string { return fmt.Sprintf("x[0-9a-f]{6}%d.*", i) }
	view := func() store.View {
		v, err := s.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		return v
	}
	room, v := 0, view()
	for ; room < 100; room++ {
		err := ask(v, expression(room), 0, 40)
		if errors.Is(err, store.ErrTooExpensive) {
			if !strings.Contains(err.Error(), "million of the request's other expressions") {
				t.Errorf("the price is told as %v", err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if room < 2 || room == 100 {
		t.Fatalf("there is room for %d expressions in one view: the test is about some", room)
	}
	for name, test := range map[string]struct {
		ask  func(v store.View) error
		fits bool
	}{
		"the same, often": {func(v store.View) (err error) {
			for range 3 * room {
				err = errors.Join(err, ask(v, expression(1), 0, 40))
			}
			return err
		}, true},
		"the same, part by part": {func(v store.View) (err error) {
			for i := range room {
				for half := range 4 {
					err = errors.Join(err, ask(v, expression(i), 10*half, 10*(half+1)))
				}
			}
			return err
		}, true},
		"other kinds and questions": {func(v store.View) (err error) {
			for i := range room {
				q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_id", store.MatchRegexp, expression(i))}}
				_, ofKinds := v.Kinds(q)
				_, ofTime := v.Timeline(q, 3)
				_, ofPprof := v.(store.Encoder).Pprof(q)
				err = errors.Join(err, ofKinds, ofTime, ofPprof)
			}
			return err
		}, true},
		"different ones": {func(v store.View) (err error) {
			for i := range room + 1 {
				err = errors.Join(err, ask(v, expression(i), 0, 40))
			}
			return err
		}, false},
		"different ones, half by half": {func(v store.View) (err error) {
			for i := range room + 1 {
				err = errors.Join(err, ask(v, expression(i), 0, 20), ask(v, expression(i), 20, 40))
			}
			return err
		}, false},
	} {
		if err := test.ask(view()); (err == nil) != test.fits || err != nil && !errors.Is(err, store.ErrTooExpensive) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A list by several expressions on attributes, and what is asked beside it, has one budget
// too.
func TestPriceOfAttributes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	for i := range 5000 {
		_, span := tracer.Start(t.Context(), "GET /", at(0), trace.WithAttributes(attribute.String("url.path", fmt.Sprint(strings.Repeat("/long/path", 20), i))))
		span.End(at(1))
	}
	expression := func(i int) store.Matcher {
		return matcher(t, "span.url.path", store.MatchRegexp, fmt.Sprintf(".*(a|b|c)%d.*[0-9]x", i))
	}
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	asked := 0
	for ; asked < 1000; asked++ {
		if _, err = v.Spans(store.SpanQuery{Attributes: []store.Matcher{expression(asked)}}); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrTooExpensive) || asked == 0 {
		t.Fatalf("after %d lists: %v", asked, err)
	}
	if _, again := v.Spans(store.SpanQuery{Attributes: []store.Matcher{expression(asked)}}); !errors.Is(again, store.ErrTooExpensive) || again.Error() != err.Error() {
		t.Errorf("asked again: %v, want %v", again, err)
	}
	nothing := matcher(t, "span.no.such.key", store.MatchRegexp, "a.*b")
	if _, err := v.Spans(store.SpanQuery{Attributes: []store.Matcher{expression(0), nothing}}); err != nil {
		t.Errorf("one that is paid for, and one that costs nothing, after one was refused: %v", err)
	}
	var all []store.Matcher
	for i := range asked + 1 {
		all = append(all, expression(i))
	}
	for n, fits := range map[int]bool{asked: true, asked + 1: false} {
		other, err := s.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Spans(store.SpanQuery{Attributes: all[:n]}); (err == nil) != fits || err != nil && !errors.Is(err, store.ErrTooExpensive) {
			t.Errorf("%d expressions in one list, of which %d fit: %v", n, asked, err)
		}
		other.Close()
	}
}

// An expression that was refused is not paid for, and is answered for less.
func TestRefusedExpressionFitsForLess(t *testing.T) {
	s, ids := ofIDs(t, 40, 1000, "%032x", labelkey.TraceID)
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	m := matcher(t, "trace_id", store.MatchRegexp, "(?:.?){45}z")
	q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}}
	for range 2 {
		if _, err := v.Select(q); !errors.Is(err, store.ErrTooExpensive) || !strings.HasSuffix(err.Error(), ": list the values as a|b|c, make it shorter, or ask for less time") {
			t.Errorf("all: %v", err)
		}
	}
	q.Until = epoch.Add(step)
	if _, err := v.Select(q); err != nil {
		t.Errorf("less time: %v", err)
	}
	q.From, q.Until = epoch.Add(10*step), epoch.Add(11*step)
	q.Matchers = append(q.Matchers, matcher(t, "trace_id", store.MatchEqual, ids[0]))
	if _, err := v.Select(q); err != nil {
		t.Errorf("of one id: %v", err)
	}
}

// dear is an expression of some 1,000 instructions on labels.
const dear = "(?:.?){900}z"

// Each value costs that an expression is tried on: the names of services, the labels of samples
// whose ids are listed, and what outlives its window. The text says what helps.
func TestPriceOfValues(t *testing.T) {
	long := strings.Repeat("long", 300)
	less := "ask for less time"
	for name, test := range map[string]struct {
		fill    func(*store.Store) (matchers []store.Matcher)
		helps   []string
		helpNot []string
	}{
		"services": {func(s *store.Store) []store.Matcher {
			for i := range 100 {
				export(t, s, exporter.NewParsedProfile(exporter.Window{
					Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * step), Duration: step,
					Resource: resource.NewSchemaless(attribute.String("service.name", fmt.Sprint(i, long))),
				}, cpuProfile(sample{"main", 1, nil})))
			}
			return []store.Matcher{matcher(t, "service_name", store.MatchRegexp, dear)}
		}, []string{less}, []string{"fewer ids", "other expressions"}},
		"labels of one window": {func(s *store.Store) []store.Matcher {
			var samples []sample
			for i := range 100 {
				samples = append(samples, sample{"main", 1, labels("tenant", fmt.Sprint(long, i))})
			}
			export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)), inWindow(1, exporter.KindCPU, cpuProfile(sample{"main", 1, labels("tenant", "a")})))
			return []store.Matcher{matcher(t, "tenant", store.MatchRegexp, dear)}
		}, nil, []string{less, "fewer ids", "other expressions"}},
		"listed": {func(s *store.Store) []store.Matcher {
			var samples []sample
			var ids []string
			for i := range 200 {
				ids = append(ids, fmt.Sprintf("%016x", i+1))
				samples = append(samples, sample{"main", 1, labels("tenant", fmt.Sprint(long, i), "span_id", ids[i])})
			}
			export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples[:30]...)), inWindow(1, exporter.KindCPU, cpuProfile(samples[30:]...)))
			return []store.Matcher{matcher(t, "tenant", store.MatchRegexp, dear), matcher(t, "span_id", store.MatchRegexp, strings.Join(ids[:150], "|"))}
		}, []string{"fewer ids", less}, []string{"other expressions"}},
		"kept": {func(s *store.Store) []store.Matcher {
			tracer := newTracerProvider(s).Tracer("")
			var samples []sample
			for i := range 10 { // the slowest of a name outlive their window
				_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i), at(0), trace.WithAttributes(attribute.String("http.route", "/")))
				span.End(at(0.5))
				samples = append(samples, sample{"main", 1, labels("tenant", fmt.Sprint(strings.Repeat(long, 10), i), "span_id", idOf(span), "profile_id", idOf(span))})
			}
			export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)), inWindow(1, exporter.KindCPU, cpuProfile(sample{"main", 1, labels("tenant", "a")})))
			s.EvictOldest()
			return []store.Matcher{matcher(t, "tenant", store.MatchRegexp, dear), matcher(t, "span.http.route", store.MatchEqual, "/")}
		}, nil, []string{"fewer ids", "other expressions"}},
		"attributes": {func(s *store.Store) []store.Matcher {
			tracer := newTracerProvider(s).Tracer("")
			for i := range 8000 {
				_, span := tracer.Start(t.Context(), "GET /", at(float64(i)), trace.WithAttributes(attribute.String("url.path", fmt.Sprint(strings.Repeat("/long", 50), i))))
				span.End(at(float64(i) + 1))
			}
			export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
			return []store.Matcher{matcher(t, "span.url.path", store.MatchRegexp, "(?:.?){30}z")}
		}, nil, []string{less, "fewer ids", "other expressions"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := s.Select(store.Query{Kind: exporter.KindCPU, Matchers: test.fill(s)})
			if !errors.Is(err, store.ErrTooExpensive) {
				t.Fatalf("got %v, want that it is too expensive", err)
			}
			text := err.Error()
			for _, help := range append(test.helps, "list the values as a|b|c", "make it shorter") {
				if !strings.Contains(text, help) {
					t.Errorf("%s: want %q", text, help)
				}
			}
			for _, help := range test.helpNot {
				if strings.Contains(text, help) {
					t.Errorf("%s: %q does not help", text, help)
				}
			}
		})
	}
}
