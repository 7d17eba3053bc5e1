// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
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
	tried        filter.Tried
	onAttributes triedValues
	// windows, sets and values are what is paid for of samples, attributes says that the
	// attributes of spans are.
	windows    map[*window]bool
	sets       map[*samples.LabelSet]bool
	values     map[string]bool
	attributes bool
	refused    error // why it is too expensive
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
		e = &expression{onAttributes: make(triedValues), windows: make(map[*window]bool), sets: make(map[*samples.LabelSet]bool), values: make(map[string]bool)}
		v.expressions[key] = e
	}
	return e
}

// tried returns what a matcher on labels and ids has matched; nil for one that is cheap.
func (v *view) tried(m *Matcher) *filter.Tried {
	if e := v.expression(m); e != nil {
		return &e.tried
	}
	return nil
}

// triedOnAttributes returns what a matcher on attributes has matched.
func (v *view) triedOnAttributes(m *Matcher) triedValues {
	if e := v.expression(m); e != nil {
		return e.onAttributes
	}
	return make(triedValues)
}

// pay pays for the expressions of a query on samples of a kind, "" for all kinds. It fails
// where they take more steps than the view has left.
func (v *view) pay(q *Query, kind exporter.Kind) error {
	if err := v.payAttributes(q.Matchers); err != nil {
		return err
	}
	if slices.ContainsFunc(q.Matchers, Matcher.ListsIDs) {
		return nil // Little is left to expressions.
	}
	for i := range q.Matchers {
		m := &q.Matchers[i]
		e := v.expression(m)
		if _, ok := m.SpanAttribute(); ok || e == nil {
			continue
		}
		if e.refused != nil {
			return e.refused
		}
		var bytes int64
		for _, w := range v.windows {
			if kind != "" && w.Kind != kind || !w.Overlaps(q.From, q.Until) || e.windows[w] {
				continue
			}
			if v.ended() {
				return v.ctx.Err()
			}
			e.windows[w] = true
			bytes += e.unpaid(&m.condition, w, v.ended)
		}
		if err := v.spend(e, &m.condition, bytes); err != nil {
			return err
		}
	}
	return nil
}

// unpaid returns the length of the values in a window that are not paid for.
func (e *expression) unpaid(c *filter.Condition, w *window, ended func() bool) (bytes int64) {
	switch {
	case c.Label() == labelkey.TraceID:
		return int64(w.Groups()) * traceIDLen
	case c.OnID():
		return int64(w.Groups()) * spanIDLen
	}
	for l := range w.Labellings() {
		if ended() {
			break
		}
		if set := w.LabelsOf(l); !e.sets[set] {
			e.sets[set] = true
			bytes += newBytes(e.values, set.Value(c.Label()))
		}
	}
	return bytes
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
		var bytes int64
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
				bytes += newBytes(e.values, value)
			}
		}
		if err := v.spend(e, &m.condition, bytes); err != nil {
			return err
		}
	}
	return nil
}

// newBytes returns the length of a value, with its end, if it was not there before.
func newBytes(values map[string]bool, value string) int64 {
	if values[value] {
		return 0
	}
	values[value] = true
	return int64(len(value)) + 1
}

// spend takes the steps of an expression on so many bytes from what the view has left. An
// expression that takes more than that stays refused, and leaves the rest to the others.
func (v *view) spend(e *expression, c *filter.Condition, bytes int64) error {
	price := bytes * int64(c.Instructions())
	if v.spent+price <= maxSteps {
		v.spent += price
		return nil
	}
	after := ""
	if v.spent > 0 {
		after = fmt.Sprintf(", after %d million of the request's other expressions", v.spent/1e6)
	}
	e.refused = fmt.Errorf("store: %w: %s on %d bytes of different values takes %d million steps%s, and %d million is the budget: list the values as a|b|c, make it shorter, or ask for less time",
		ErrTooExpensive, c.Label(), bytes, price/1e6, after, int64(maxSteps/1e6))
	return e.refused
}
