// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// ErrTooExpensive is returned by the queries of a [View] with a regular expression that
// would run for seconds on what the source holds. The text has the price and the budget.
var ErrTooExpensive = errors.New("the regular expression is too expensive")

// maxSteps is the budget of the regular expressions of a query. A step is an instruction
// of an expression for a byte of a value.
const maxSteps = 100e6

// The lengths of ids, with their ends.
const (
	spanIDLen  = 16 + 1
	traceIDLen = 32 + 1
)

// checkPrice fails for a query on samples of a kind, "" for all kinds, whose expressions
// would take more steps than the budget has.
func (v *view) checkPrice(q *Query, kind exporter.Kind) error {
	var spent price
	if err := v.checkAttributePrice(q.Matchers, &spent); err != nil {
		return err
	}
	listed := q.filter().ListsIDs()
	for i := range q.Matchers {
		m := &q.Matchers[i]
		if _, ok := m.SpanAttribute(); ok || !m.condition.Expression() || listed {
			continue
		}
		var bytes int64
		idLen := int64(spanIDLen)
		if m.Label() == labelkey.TraceID {
			idLen = traceIDLen
		}
		known := make(map[*samples.LabelSet]bool)
		values := make(map[string]bool)
		for _, w := range v.windows {
			if kind != "" && w.Kind != kind || !w.Overlaps(q.From, q.Until) {
				continue
			}
			if m.condition.OnID() {
				bytes += int64(w.Groups()) * idLen
				continue
			}
			for l := range w.Labellings() {
				set := w.LabelsOf(l)
				if v.ended() {
					return v.ctx.Err()
				}
				if known[set] {
					continue
				}
				known[set] = true
				if value := set.Value(m.Label()); !values[value] {
					values[value] = true
					bytes += int64(len(value)) + 1
				}
			}
		}
		if err := spent.add(&m.condition, bytes); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributePrice is checkPrice for the conditions on attributes. It adds to what is
// spent.
func (v *view) checkAttributePrice(matchers []Matcher, spent *price) error {
	for i := range matchers {
		m := &matchers[i]
		key, ok := m.SpanAttribute()
		if !ok || !m.condition.Expression() {
			continue
		}
		var bytes int64
		known, values := make(map[*spanlog.Text]bool), make(map[string]bool)
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
				if !values[value] {
					values[value] = true
					bytes += int64(len(value)) + 1
				}
			}
		}
		if err := spent.add(&m.condition, bytes); err != nil {
			return err
		}
	}
	return nil
}

// price is how many steps the expressions of a query take.
type price int64

func (p *price) add(c *filter.Condition, bytes int64) error {
	*p += price(bytes * int64(c.Instructions()))
	if *p > maxSteps {
		return fmt.Errorf("store: %w: with %s on %d bytes of different values the query takes %d million steps, and %d million is the budget: list the values as a|b|c, make it shorter, or ask for less time",
			ErrTooExpensive, c.Label(), bytes, *p/1e6, int64(maxSteps/1e6))
	}
	return nil
}
