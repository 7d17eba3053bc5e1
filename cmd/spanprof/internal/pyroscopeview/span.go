// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// foundSpan is the answer about a span. Its first samples are between from and until.
type foundSpan struct {
	store.Span
	known       bool
	from, until time.Time
}

// byID returns the span with an id. A span is known if it has samples. The server does not
// return the labels of a span by its id. They are from a list of spans, or from the
// values by which its samples are found.
func (v *view) byID(id string) ([]store.Span, error) {
	if b, err := hex.DecodeString(id); err != nil || len(b) != 8 {
		return nil, nil
	}
	id = strings.ToLower(id)
	found, ok := v.spans[id]
	if !ok {
		var err error
		if found, err = v.findSpan(id); err != nil {
			return nil, err
		}
		v.spans[id] = found
	}
	if !found.known {
		return nil, nil
	}
	return []store.Span{found.Span}, nil
}

func (v *view) findSpan(id string) (foundSpan, error) {
	asked, ok := v.seen[id]
	if !ok {
		asked.Labels = "{}"
		asked.From, asked.Until = around(v.from, v.until)
	}
	asked.Spans = []string{id}
	s := store.Span{ProfileID: id, SummaryMissing: true, Complete: true, Start: asked.From.Add(margin), Duration: asked.Until.Sub(asked.From) - margin}
	for _, kind := range []exporter.Kind{exporter.KindWall, exporter.KindCPU} {
		types, err := v.standardTypes(kind, "")
		if err != nil {
			return foundSpan{}, err
		}
		if len(types) == 0 {
			continue
		}
		of := asked
		of.Type = types[0].ID
		total, err := v.total(of)
		if err != nil {
			return foundSpan{}, err
		}
		if total == 0 {
			continue
		}
		asked.Type = of.Type
		s.SamplesHeld++
		if kind == exporter.KindWall {
			s.WallSamples = 1
		} else {
			s.CPU, s.CPUInclusive, s.CPUSamples = time.Duration(total), time.Duration(total), 1
		}
	}
	if s.SamplesHeld == 0 {
		return foundSpan{}, nil
	}
	asked, err := v.near(asked)
	if err == nil {
		err = v.describe(&s, asked)
	}
	return foundSpan{s, true, asked.From, asked.Until}, err
}

// nearTime is about how long a time is in which the server lists spans to find one. Its
// answer costs as much as all spans of the time.
const nearTime = 4 * time.Minute

// near shortens the time of a selector to where its first samples are.
func (v *view) near(s querier.Selector) (querier.Selector, error) {
	for s.Until.Sub(s.From) > nearTime {
		pieces := make([]querier.Selector, ways)
		step := s.Until.Sub(s.From) / ways
		for i := range pieces {
			pieces[i] = s
			pieces[i].From = s.From.Add(time.Duration(i) * step)
			pieces[i].Until = pieces[i].From.Add(step)
		}
		i, err := v.first(pieces)
		if err != nil || i < 0 {
			return s, err
		}
		s = pieces[i]
	}
	return s, nil
}

// first returns the index of the first selector with samples; -1 if there is none.
func (v *view) first(selectors []querier.Selector) (int, error) {
	totals := make([]int64, len(selectors))
	var ask []func() error
	for i, s := range selectors {
		ask = append(ask, func() (err error) {
			totals[i], err = v.client.Total(v.ctx, s)
			return err
		})
	}
	err := group(ask...)
	return slices.IndexFunc(totals, func(total int64) bool { return total != 0 }), err
}

// describe finds the name and the service of a span that has samples.
func (v *view) describe(s *store.Span, asked querier.Selector) error {
	list := asked
	list.Spans = nil
	page, err := v.page(list)
	if err != nil {
		return err
	}
	for _, row := range spanRows(page.spans) {
		if row.ProfileID == s.ProfileID {
			s.TraceID, s.Name, s.Label, s.Service, s.Start = row.TraceID, row.Name, row.Label, row.Service, row.Start
			return nil
		}
	}
	if s.Service, err = v.valueOf(serviceName, asked); err != nil {
		return err
	}
	if s.Service != "" {
		asked.Labels = querier.Narrowed(asked.Labels, serviceName+"="+strconv.Quote(s.Service))
	}
	s.Name, err = v.valueOf(labelkey.SpanName, asked)
	s.Label = s.Name
	return err
}

const (
	// maxValues is the number of values of a label among which the value of a span is
	// searched: four rounds of calls.
	maxValues = 256
	ways      = 4
)

// valueOf returns the value of a label of what a selector selects, which is one span: ""
// if there is none, or too many to look for.
func (v *view) valueOf(label string, asked querier.Selector) (string, error) {
	values, err := v.client.LabelValues(v.ctx, asked.Labels, label, asked.From, asked.Until)
	if err != nil {
		return "", err
	}
	if len(values) > maxValues {
		v.note(fmt.Sprintf("the %s of this span is not known: the server has %d of them at that time", label, len(values)))
		return "", nil
	}
	if label == serviceName && len(values) == 1 {
		return values[0], nil // What is pushed has a service.
	}
	for len(values) > 0 {
		pieces := slices.Collect(slices.Chunk(values, (len(values)+ways-1)/ways))
		asks := make([]querier.Selector, len(pieces))
		for i, piece := range pieces {
			asks[i] = asked
			asks[i].Labels = withList(asked.Labels, label, piece)
		}
		i, err := v.first(asks)
		if err != nil {
			return "", err
		}
		switch {
		case i < 0:
			return "", nil // Its samples lack the label.
		case len(pieces[i]) == 1:
			return pieces[i][0], nil
		}
		values = pieces[i]
	}
	return "", nil
}

// withList adds to a label selector that a label has one of some values.
func withList(selector, label string, values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = regexp.QuoteMeta(value)
	}
	return querier.Narrowed(selector, label+"=~"+strconv.Quote(strings.Join(quoted, "|")))
}
