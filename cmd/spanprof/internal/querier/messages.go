// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"context"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
)

// Selector selects the samples of a call.
type Selector struct {
	// Type is the id of a profile type, process_cpu:cpu:nanoseconds:cpu:nanoseconds.
	Type string
	// Labels is a label selector, {service_name="shop"}.
	Labels string
	// Spans, if not empty, restricts the samples to these ids, in 16 hex digits.
	Spans []string
	// From and Until bound the time, in milliseconds.
	From, Until time.Time
}

// Narrowed adds conditions to a label selector.
func Narrowed(selector string, matchers ...string) string {
	inner := strings.TrimSuffix(strings.TrimSpace(strings.Trim(selector, "{}")), ",")
	if inner != "" {
		matchers = append([]string{inner}, matchers...)
	}
	return "{" + strings.Join(matchers, ",") + "}"
}

// times is the part of a request that has its time.
type times struct {
	Start int64 `json:"start,string"`
	End   int64 `json:"end,string"`
}

func timesOf(from, until time.Time) times { return times{from.UnixMilli(), until.UnixMilli()} }

// selection is the part of a request that has a type and labels.
type selection struct {
	times
	ProfileTypeID string   `json:"profileTypeID"`
	LabelSelector string   `json:"labelSelector"`
	SpanSelector  []string `json:"spanSelector,omitempty"`
}

func selectionOf(s Selector) selection {
	return selection{timesOf(s.From, s.Until), s.Type, s.Labels, s.Spans}
}

// stepOf returns a step in seconds. The server truncates it to milliseconds: half of one
// guards against rounding.
func stepOf(step time.Duration) float64 { return (float64(step.Milliseconds()) + 0.5) / 1000 }

type labelPair struct{ Name, Value string }

func labelsOf(pairs []labelPair) map[string]string {
	labels := make(map[string]string, len(pairs))
	for _, p := range pairs {
		labels[p.Name] = p.Value
	}
	return labels
}

// Series returns the different values of some labels of the series that a label selector
// means; an empty selector means all.
func (c *Client) Series(ctx context.Context, selector string, names []string, from, until time.Time) ([]map[string]string, error) {
	request := struct {
		times
		Matchers   []string `json:"matchers,omitempty"`
		LabelNames []string `json:"labelNames"`
	}{times: timesOf(from, until), LabelNames: names}
	if selector != "" {
		request.Matchers = []string{selector}
	}
	var answer struct {
		LabelsSet []struct{ Labels []labelPair }
	}
	if err := c.callJSON(ctx, "Series", request, &answer); err != nil {
		return nil, err
	}
	sets := make([]map[string]string, 0, len(answer.LabelsSet))
	for _, set := range answer.LabelsSet {
		sets = append(sets, labelsOf(set.Labels))
	}
	return sets, nil
}

// Total returns the sum of what s selects.
func (c *Client) Total(ctx context.Context, s Selector) (int64, error) {
	request := struct {
		selection
		MaxNodes int64 `json:"maxNodes,string"`
	}{selectionOf(s), 1}
	var answer struct {
		Flamegraph struct {
			Total int64 `json:",string"`
		}
	}
	err := c.callJSON(ctx, "SelectMergeStacktraces", request, &answer)
	return answer.Flamegraph.Total, err
}

// Sum is the sum of the samples with some values of labels.
type Sum struct {
	Labels map[string]string
	Value  float64
}

// Sums returns the sums of what s selects by labels: the limit greatest.
func (c *Client) Sums(ctx context.Context, s Selector, by []string, limit int) ([]Sum, error) {
	// One step has all of it. A point is at the end of its step.
	s.From = s.From.Truncate(time.Millisecond)
	step := (s.Until.Sub(s.From) + time.Millisecond).Truncate(time.Millisecond)
	s.Until = s.From.Add(step)
	request := struct {
		selection
		GroupBy []string `json:"groupBy"`
		Step    float64  `json:"step"`
		Limit   int64    `json:"limit,string"`
	}{selectionOf(s), by, stepOf(step), int64(limit)}
	var answer struct {
		Series []struct {
			Labels []labelPair
			Points []struct {
				Value     float64
				Timestamp int64 `json:",string"`
			}
		}
	}
	if err := c.callJSON(ctx, "SelectSeries", request, &answer); err != nil {
		return nil, err
	}
	all := make([]Sum, 0, len(answer.Series))
	for _, series := range answer.Series {
		sum := Sum{Labels: labelsOf(series.Labels)}
		for _, point := range series.Points {
			if point.Timestamp > s.From.UnixMilli() {
				sum.Value += point.Value
			}
		}
		all = append(all, sum)
	}
	return all, nil
}

// Span is what one profile has of a span.
type Span struct {
	ID, TraceID string
	// Labels are the name and the service. Spans share them.
	Labels map[string]string
	// Time is the time of the profile.
	Time  time.Time
	Value int64
}

// Spans returns the spans with the greatest values among the samples that s selects: of
// each step, of each name and of each twentieth of the values. total counts all spans, once
// per profile. limit bounds the names.
func (c *Client) Spans(ctx context.Context, s Selector, step time.Duration, limit int) (list []Span, total int64, err error) {
	request := struct {
		selection
		Step         float64  `json:"step"`
		GroupBy      []string `json:"groupBy"`
		QueryType    string   `json:"queryType"`
		ExemplarType string   `json:"exemplarType"`
		Limit        int64    `json:"limit,string"`
	}{selectionOf(s), stepOf(step), []string{"service_name", "span_name"}, "HEATMAP_QUERY_TYPE_SPAN", "EXEMPLAR_TYPE_SPAN", int64(limit)}
	var answer struct {
		Series []struct {
			Labels []labelPair
			Slots  []struct {
				Counts    []int64
				Exemplars []struct {
					Timestamp int64 `json:",string"`
					SpanID    string
					TraceID   string
					Value     int64 `json:",string"`
				}
			}
		}
	}
	if err := c.callJSON(ctx, "SelectHeatmap", request, &answer); err != nil {
		return nil, 0, err
	}
	for _, series := range answer.Series {
		labels := labelsOf(series.Labels)
		for _, slot := range series.Slots {
			for _, n := range slot.Counts {
				total += n
			}
			for _, e := range slot.Exemplars {
				list = append(list, Span{e.SpanID, e.TraceID, labels, time.UnixMilli(e.Timestamp), e.Value})
			}
		}
	}
	return list, total, nil
}

// Type is a profile type of the server.
type Type struct {
	// ID is name:sample:unit:period type:period unit.
	ID string
	// Kind, Sample and Unit are as package columns names them.
	Kind         exporter.Kind
	Sample, Unit string
}

// ParseType reads the id of a profile type. It returns false for another text.
func ParseType(id string) (Type, bool) {
	part := strings.Split(id, ":")
	if len(part) != 5 {
		return Type{}, false
	}
	unit := strings.TrimPrefix(part[2], "lock_") // of a Java agent
	if unit == "samples" {
		unit = "count"
	}
	of := columns.Split(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: part[1], Unit: unit}},
		PeriodType: &profile.ValueType{Type: part[3], Unit: part[4]}, Period: 1,
	}, part[0])[0]
	t := Type{ID: id, Kind: exporter.Kind(of.Kind), Sample: of.Profile.SampleType[0].Type, Unit: unit}
	switch {
	case part[0] == columns.Wall:
		t.Kind = columns.Wall
	case part[0] == columns.Host:
		t.Kind = columns.Host
	case part[0] == "process_cpu" && strings.HasPrefix(string(t.Kind), columns.Other):
		t.Kind = columns.CPU
	}
	return t, true
}

// Momentary reports whether values are live memory or goroutines. They must not be added.
func (t Type) Momentary() bool {
	return strings.HasPrefix(t.Sample, "inuse_") || t.Kind == columns.Goroutine
}
