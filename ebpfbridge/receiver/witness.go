// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// record is a sample as the agent sends it.
type record struct {
	stack      []*profile.Location
	labels     map[string]string // of the goroutine
	link       map[string]string // the ids of its Link, if it has one
	thread     int64
	timestamps []uint64
	ambiguous  bool   // as profilesprocessor marks it
	rest       string // what distinguishes records, except labels and Link
}

// maxLabelText is how much of a label is read, in bytes. Stock agents cut values at 47.
// In a hostile message many samples may share one huge text.
const maxLabelText = 256

// records returns the records of a profile.
func records(p decode.Timed, parsed *profile.Profile) []record {
	list := make([]record, len(parsed.Sample))
	for i, s := range parsed.Sample {
		rec := record{stack: s.Location, timestamps: p.Timestamps[i], labels: map[string]string{}, link: map[string]string{}}
		var rest []string
		for key, values := range s.Label {
			if len(values) == 0 || len(key) > maxLabelText {
				continue
			}
			value := values[0][:min(len(values[0]), maxLabelText)]
			switch {
			case strings.HasPrefix(key, labelPrefix):
				rec.labels[label(key)] = value
			case isID(key) && p.SpanIDs[i] != "":
				rec.link[key] = value
			case isID(key):
				rec.labels[key] = value
			default:
				rec.ambiguous = rec.ambiguous || key == labelkey.SpanAttribution && value == labelkey.Ambiguous
				rest = append(rest, fmt.Sprintf("%q=%q", key, value))
			}
		}
		for key, values := range s.NumLabel {
			if len(values) == 0 || len(key) > maxLabelText {
				continue
			}
			if key == "thread.id" {
				rec.thread = values[0]
			}
			rest = append(rest, fmt.Sprintf("%q=%d", key, values[0]))
		}
		if id := p.SpanIDs[i]; id != "" {
			rec.link[labelkey.SpanID] = id
		}
		slices.Sort(rest)
		rec.rest = stackKey(s.Location) + strings.Join(rest, "\n")
		list[i] = rec
	}
	return list
}

func isID(key string) bool {
	return key == labelkey.SpanID || key == labelkey.TraceID || key == labelkey.ProfileID
}

func stackKey(stack []*profile.Location) string {
	var b []byte
	for _, l := range stack {
		b = binary.AppendUvarint(b, l.ID)
	}
	return string(binary.AppendUvarint(b, 0)) // ids begin at 1
}

// haveTwins reports whether two records differ in their labels or Link alone. An
// agent that does not tell records apart by them never sends such.
func haveTwins(list []record) bool {
	seen := make(map[string]record, len(list))
	for _, rec := range list {
		if twin, ok := seen[rec.rest]; ok && (!maps.Equal(twin.labels, rec.labels) || !maps.Equal(twin.link, rec.link)) {
			return true
		}
		seen[rec.rest] = rec
	}
	return false
}

// placed is samples of a record that have the same labels.
type placed struct {
	labels map[string]string
	at     []uint64 // their times
}

// attributed adds to the labels of a span's samples by what they are the span's.
func attributed(labels map[string]string, by string) map[string]string {
	if labels[labelkey.SpanID] == "" {
		return labels
	}
	labels = maps.Clone(labels)
	labels[labelkey.SpanAttribution] = by
	return labels
}

// maxLabels is how many labels an agent keeps.
const maxLabels = 10

// place gives each sample of a record its labels.
func (r *Receiver) place(rec record, counted *Status) []placed {
	if rec.ambiguous {
		return r.placeByTime(rec.thread, rec.timestamps, counted)
	}
	labels, ofLink := r.restored(rec.labels), r.restored(rec.link)
	both := maps.Clone(labels)
	maps.Copy(both, ofLink)
	if r.threads.keyed {
		counted.Witnessed += len(rec.timestamps)
		return []placed{{attributed(both, labelkey.ByLabels), rec.timestamps}}
	}
	first, later := rec.timestamps[:1], rec.timestamps[1:]
	counted.First++
	ofFirst := attributed(both, labelkey.ByLink)
	if labels[labelkey.SpanID] != "" {
		ofFirst = attributed(labels, labelkey.First)
	}
	list := []placed{{ofFirst, first}}
	if len(rec.labels) >= maxLabels && ofFirst[labelkey.SpanID] == "" {
		counted.LabelsLost++
	}
	switch {
	case len(later) == 0:
		return list
	case rec.link[labelkey.SpanID] != "":
		// The Link is the same for all of them, and no other label is.
		counted.Witnessed += len(later)
		return append(list, placed{attributed(ofLink, labelkey.ByLink), later})
	}
	if !r.agree(rec, first[0]) {
		counted.Ambiguous += len(later)
		return append(list, unplaced(later))
	}
	return append(list, r.placeByTime(rec.thread, later, counted)...)
}

// agree reports whether the timelines do not contradict what is certain of a record: its
// labels at the time of its first sample. They do so where code other than spanprof has
// changed the labels of the goroutine.
func (r *Receiver) agree(rec record, first uint64) bool {
	own, ok := r.threads.own(rec.thread)
	if r.timelines == nil || !ok || len(rec.labels) >= maxLabels {
		return true
	}
	id := rec.labels[labelkey.SpanID]
	if id == "" {
		id = rec.labels[labelkey.ProfileID]
	}
	onThread, known := r.timelines.SpanAt(own, time.Unix(0, int64(first)))
	return !known || onThread == id
}

func unplaced(times []uint64) placed {
	return placed{map[string]string{labelkey.SpanAttribution: labelkey.Ambiguous}, times}
}

// placeByTime places samples without certain labels of the agent.
func (r *Receiver) placeByTime(thread int64, times []uint64, counted *Status) []placed {
	unclear := times
	bySpan := map[string][]uint64{}
	if own, ok := r.threads.own(thread); ok && r.timelines != nil {
		unclear = nil
		for _, at := range times {
			if id, known := r.timelines.SpanAt(own, time.Unix(0, int64(at))); known {
				bySpan[id] = append(bySpan[id], at)
			} else {
				unclear = append(unclear, at)
			}
		}
	}
	var list []placed
	for _, id := range slices.Sorted(maps.Keys(bySpan)) {
		list = append(list, placed{attributed(r.labelsOf(id), labelkey.ByTimeline), bySpan[id]})
	}
	counted.Placed += len(times) - len(unclear)
	counted.Ambiguous += len(unclear)
	if len(unclear) > 0 {
		list = append(list, unplaced(unclear))
	}
	return list
}

// labelsOf returns the labels of a span.
func (r *Receiver) labelsOf(id string) map[string]string {
	if id == "" {
		return nil
	}
	return r.restored(map[string]string{labelkey.SpanID: id, labelkey.ProfileID: id})
}

// restored returns labels with the span's name in full: the agent cuts it.
func (r *Receiver) restored(labels map[string]string) map[string]string {
	span, ok := r.lookup.own(labels[labelkey.SpanID])
	if !ok {
		return labels
	}
	labels = maps.Clone(labels)
	if span.Name != "" {
		labels[labelkey.SpanName] = span.Name
	}
	if span.TraceID != "" {
		labels[labelkey.TraceID] = span.TraceID
	}
	return labels
}
