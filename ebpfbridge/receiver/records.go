// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/internal/attribution"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// record is a record of the agent, with what the rules need.
type record struct {
	decode.Record
	rule   attribution.Record
	link   map[string]string // the ids of its Link
	thread int64
	facts  map[string]string // the thread's name and the CPU, as labels
}

const (
	// maxLabels is how many labels an agent keeps.
	maxLabels = 10
	// maxLabelText is how much of a label is read, in bytes. Stock agents cut values at 47.
	// In a hostile message many samples may share one huge text.
	maxLabelText = 256
)

// records returns the records of a profile, and the rules' view of them.
func records(p decode.Profile) ([]record, []attribution.Record) {
	list, rules := make([]record, len(p.Records)), make([]attribution.Record, len(p.Records))
	for i, r := range p.Records {
		rec := record{Record: r, facts: map[string]string{}, rule: attribution.Record{Labels: map[string]string{}, Link: r.TraceID + r.SpanID}}
		if r.SpanID != "" {
			rec.link = map[string]string{labelkey.SpanID: r.SpanID, labelkey.TraceID: r.TraceID}
		}
		rest := []string{strconv.Itoa(int(r.StackIndex))}
		for _, a := range r.Attributes {
			text := a.Text[:min(len(a.Text), maxLabelText)]
			key, isLabel := attribution.Label(a.Key)
			switch {
			case len(a.Key) > maxLabelText:
			case isLabel && !a.IsNumber:
				rec.rule.Labels[key] = text
			default:
				rest = append(rest, fmt.Sprintf("%q=%q %d", a.Key, text, a.Number))
				rec.fact(a.Key, text, a.Number)
			}
		}
		slices.Sort(rest[1:])
		rec.rule.Rest = strings.Join(rest, "\n")
		list[i], rules[i] = rec, rec.rule
	}
	return list, rules
}

// fact keeps an attribute of a sample that is no label of its goroutine.
func (rec *record) fact(key, text string, number int64) {
	switch {
	case key == "thread.id":
		rec.thread = number
	case key == "thread.name" && text != "":
		rec.facts[LabelThread] = text
	case key == "cpu.logical_number":
		rec.facts[LabelCPU] = strconv.FormatInt(number, 10)
	case key == labelkey.SpanAttribution && text == labelkey.Ambiguous:
		rec.rule.Split = true // by profilesprocessor
	}
}

// placed is samples of a record that have the same labels.
type placed struct {
	labels map[string]string
	at     []uint64 // their times
	values []int64  // as many, or nil
}

// slice returns the samples from one index to another, without their labels.
func (rec record) slice(from, to int) placed {
	p := placed{at: rec.Timestamps[from:to]}
	if rec.Values != nil {
		p.values = rec.Values[from:to]
	}
	return p
}

// with returns p with labels, and by what its samples are a span's.
func (p placed) with(labels map[string]string, by string) placed {
	p.labels = map[string]string{}
	maps.Copy(p.labels, labels)
	if labels[labelkey.SpanID] != "" || by == labelkey.Ambiguous {
		p.labels[labelkey.SpanAttribution] = by
	}
	return p
}

// place gives each sample of a record its labels.
func (r *Receiver) place(rec record, keyed bool, counted *Status) []placed {
	n := len(rec.Timestamps)
	first, later := rec.rule.Witnesses(keyed)
	if first == labelkey.Ambiguous {
		return r.placeByTime(rec, 0, counted)
	}
	labels := maps.Clone(rec.rule.Labels)
	if keyed || labels[labelkey.SpanID] == "" {
		maps.Copy(labels, rec.link)
	}
	labels = r.restored(labels)
	if keyed {
		counted.Witnessed += n
		return []placed{rec.slice(0, n).with(labels, first)}
	}
	counted.First++
	list := []placed{rec.slice(0, 1).with(labels, first)}
	switch {
	case n == 1:
		return list
	case later == labelkey.ByLink:
		// The Link is the same for all of them, and no other label is.
		counted.Witnessed += n - 1
		return append(list, rec.slice(1, n).with(r.restored(rec.link), later))
	case !r.agree(rec):
		counted.Ambiguous += n - 1
		return append(list, rec.slice(1, n).with(nil, later))
	}
	return append(list, r.placeByTime(rec, 1, counted)...)
}

// agree reports whether the timelines do not contradict what is certain of a record: its
// labels at the time of its first sample. They do so where code other than spanprof has
// changed the labels of the goroutine.
func (r *Receiver) agree(rec record) bool {
	if r.timelines == nil || rec.thread == 0 || len(rec.rule.Labels) >= maxLabels {
		return true
	}
	id := cmp.Or(rec.rule.Labels[labelkey.SpanID], rec.rule.Labels[labelkey.ProfileID])
	onThread, known := r.timelines.SpanAt(rec.thread, time.Unix(0, int64(rec.Timestamps[0])))
	return !known || onThread == id
}

// placeByTime places the samples from an index on, which have no certain labels.
func (r *Receiver) placeByTime(rec record, from int, counted *Status) []placed {
	bySpan := map[string]placed{}
	var unclear placed
	for i := from; i < len(rec.Timestamps); i++ {
		one, id, known := rec.slice(i, i+1), "", false
		if r.timelines != nil && rec.thread != 0 {
			id, known = r.timelines.SpanAt(rec.thread, time.Unix(0, int64(one.at[0])))
		}
		if known {
			bySpan[id] = bySpan[id].and(one)
		} else {
			unclear = unclear.and(one)
		}
	}
	var list []placed
	for _, id := range slices.Sorted(maps.Keys(bySpan)) {
		labels := map[string]string{}
		if id != "" {
			labels = r.restored(map[string]string{labelkey.SpanID: id, labelkey.ProfileID: id})
		}
		counted.Placed += len(bySpan[id].at)
		list = append(list, bySpan[id].with(labels, labelkey.ByTimeline))
	}
	if len(unclear.at) > 0 {
		counted.Ambiguous += len(unclear.at)
		list = append(list, unclear.with(nil, labelkey.Ambiguous))
	}
	return list
}

func (p placed) and(one placed) placed {
	return placed{at: append(p.at, one.at...), values: append(p.values, one.values...)}
}

// restored returns labels with the span's name in full: the agent cuts it.
func (r *Receiver) restored(labels map[string]string) map[string]string {
	id := labels[labelkey.SpanID]
	if len(id) != 16 {
		return labels
	}
	name, traceID, ok := r.lookup(id)
	if !ok {
		return labels
	}
	labels = maps.Clone(labels)
	if name != "" {
		labels[labelkey.SpanName] = name
	}
	if traceID != "" {
		labels[labelkey.TraceID] = traceID
	}
	return labels
}
