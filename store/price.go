// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// ErrTooExpensive is returned by the queries of a [View] whose regular expressions would run
// for seconds on what the source holds, those of all queries of the view together. The text
// has the price and the budget.
var ErrTooExpensive = errors.New("the regular expression is too expensive")

// maxSteps is the budget of the regular expressions of a view. A step is an instruction
// of an expression for a byte of a value.
const maxSteps = 100e6

// The lengths of ids, with their ends.
const (
	spanIDLen  = 16 + 1
	traceIDLen = 32 + 1
)

// expression is a regular expression in the queries of a view. It is tried, and paid for,
// once on each value, however many queries have it: a page asks several.
type expression struct {
	tried filter.Tried
	// What is paid for. groups are those that a query lists by their ids: of a window in
	// windows, all are.
	windows    map[*window]bool
	groups     map[samples.Group]bool
	sets       map[filter.Labels]bool
	values     map[string]bool
	attributes bool
	refused    error // why it is too expensive on attributes
}

type expressionKey struct {
	label, value string
	op           MatchOp
}

// expression returns that of a matcher, nil if it is none.
func (v *view) expression(m *Matcher) *expression {
	if !m.condition.Expression() {
		return nil
	}
	key := expressionKey{m.Label(), m.Value(), m.Op()}
	e := v.expressions[key]
	if e == nil {
		if v.expressions == nil {
			v.expressions = make(map[expressionKey]*expression)
		}
		e = &expression{windows: make(map[*window]bool), groups: make(map[samples.Group]bool), sets: make(map[filter.Labels]bool), values: make(map[string]bool)}
		v.expressions[key] = e
	}
	return e
}

// tried returns what a matcher has matched in the queries before; nil for one that is cheap.
func (v *view) tried(m *Matcher) *filter.Tried {
	if e := v.expression(m); e != nil {
		return &e.tried
	}
	return nil
}

// pay pays for the expressions of a query on samples of a kind, "" for all kinds. It fails
// where they take more steps than the view has left.
func (v *view) pay(q *Query, kind exporter.Kind) error {
	if err := v.payAttributes(q.Matchers); err != nil {
		return err
	}
	if !slices.ContainsFunc(q.Matchers, func(m Matcher) bool { return m.condition.Expression() }) {
		return nil
	}
	// lists are the matchers that list ids, nil for none: the others are tried on what these find.
	var lists *filter.Filter
	windows := v.windows
	for i := range q.Matchers {
		m := &q.Matchers[i]
		if m.ListsIDs() {
			if lists == nil {
				lists = filter.New()
				lists.Until(v.ended)
			}
			lists.Add(m.condition, nil)
		}
		if _, ok := m.SpanAttribute(); ok || m.ListsIDs() {
			windows = slices.Concat(v.kept, v.windows) // as matches does
		}
	}
	for i := range q.Matchers {
		m := &q.Matchers[i]
		e := v.expression(m)
		if _, ok := m.SpanAttribute(); ok || e == nil {
			continue
		}
		b := bill{expression: e, condition: &m.condition, ofList: lists != nil}
		for _, w := range windows {
			if kind != "" && w.Kind != kind || !w.Overlaps(q.From, q.Until) || e.windows[w] {
				continue
			}
			if v.ended() {
				return v.ctx.Err()
			}
			b.window(w, lists, v.ended)
		}
		if err := v.spend(&b); err != nil {
			return err
		}
	}
	return nil
}

// payAttributes pays for the expressions on attributes of spans.
func (v *view) payAttributes(matchers []Matcher) error {
	for i := range matchers {
		m := &matchers[i]
		e := v.expression(m)
		key, ok := m.SpanAttribute()
		if !ok || e == nil {
			continue
		}
		if e.refused != nil {
			return e.refused
		}
		if e.attributes {
			continue
		}
		e.attributes = true
		b := bill{expression: e, condition: &m.condition, onAttributes: true}
		known := make(map[*spanlog.Text]bool)
		nodes := v.nodes()
		for j := range nodes.list {
			if v.ended() {
				return v.ctx.Err()
			}
			text := nodes.list[j].attributes
			if text == nil || known[text] {
				continue
			}
			known[text] = true
			of, _ := valuesOf(v.spans.Attributes(&spanlog.Record{Attributes: text}), key)
			for _, value := range of {
				b.value(value)
			}
		}
		if e.refused = v.spend(&b); e.refused != nil {
			return e.refused
		}
	}
	return nil
}

// spend takes the steps of a bill from what the view has left. An expression that takes more
// than that leaves the rest to the others.
func (v *view) spend(b *bill) error {
	if b.bytes*b.steps() <= maxSteps-v.spent {
		v.spent += b.bytes * b.steps()
		return nil
	}
	b.tearUp()
	after := ""
	if v.spent > 0 {
		after = fmt.Sprintf(", after %d million of the request's other expressions", v.spent/1e6)
	}
	return fmt.Errorf("store: %w: %s on %d bytes of different values takes %d million steps%s, and %d million is the budget: %s",
		ErrTooExpensive, b.condition.Label(), b.bytes, b.bytes*b.steps()/1e6, after, int64(maxSteps/1e6), b.advice(maxSteps-v.spent))
}
