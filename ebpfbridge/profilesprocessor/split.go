// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesprocessor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Counts are numbers of samples with the labels or the Link of a span, each timestamp one.
type Counts struct {
	// First are the first of their record, Labels those of agents that tell records apart
	// by labels, Link those that came with a Link: their span is certain.
	First, Labels, Link int64
	// Ambiguous have lost the labels, and have the attribute span_attribution=ambiguous:
	// they may be any span's.
	Ambiguous int64
}

// Splitter remembers which agents tell samples apart by their labels. It is safe for
// concurrent use.
type Splitter struct {
	mu    sync.Mutex
	keyed []agent // the newest last
}

// agent is one run of an agent, as far as a receiver can tell.
type agent struct{ connection, name, version string }

const maxAgents = 256

// labelPrefix is what the agent puts before the keys of goroutine labels.
const labelPrefix = "process.context.label."

// Split splits the samples of one message, which came over a connection. An error means
// that the message breaks the format's rules; what it has become is not to be used.
func (s *Splitter) Split(connection string, td pprofile.Profiles) (counts Counts, err error) {
	m := message{dict: td.Dictionary(), counts: &counts}
	for _, r := range td.ResourceProfiles().All() {
		for _, scope := range r.ScopeProfiles().All() {
			from := agent{connection, scope.Scope().Name(), scope.Scope().Version()}
			for _, p := range scope.Profiles().All() {
				if err := m.split(p.Samples(), func(twins bool) bool { return s.isKeyed(from, twins) }); err != nil {
					return Counts{}, fmt.Errorf("spanprof: %w", err)
				}
			}
		}
	}
	return counts, nil
}

// isKeyed reports whether an agent tells samples apart by labels, which twins show.
func (s *Splitter) isKeyed(from agent, twins bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.Contains(s.keyed, from)
	if twins && !known {
		if s.keyed = append(s.keyed, from); len(s.keyed) > maxAgents {
			s.keyed = slices.Delete(s.keyed, 0, 1)
		}
	}
	return known || twins
}

// message is what is split.
type message struct {
	dict   pprofile.ProfilesDictionary
	counts *Counts
}

// labels are those of a goroutine, by their names in Go, and the other attributes.
type labels struct {
	of   map[string]string
	rest []int32
}

func (m message) labels(s pprofile.Sample) (labels, error) {
	l := labels{of: map[string]string{}}
	table, texts := m.dict.AttributeTable(), m.dict.StringTable()
	for _, i := range s.AttributeIndices().All() {
		if i < 0 || int(i) >= table.Len() {
			return l, fmt.Errorf("attribute %d of %d", i, table.Len())
		}
		kv := table.At(int(i))
		if key := kv.KeyStrindex(); key < 0 || int(key) >= texts.Len() {
			return l, fmt.Errorf("string %d of %d", key, texts.Len())
		}
		if name, ok := strings.CutPrefix(texts.At(int(kv.KeyStrindex())), labelPrefix); ok {
			l.of[name] = kv.Value().AsString()
		} else {
			l.rest = append(l.rest, i)
		}
	}
	return l, nil
}

func (m message) split(list pprofile.SampleSlice, isKeyed func(twins bool) bool) error {
	all := make([]labels, list.Len())
	for i, s := range list.All() {
		var err error
		if all[i], err = m.labels(s); err != nil {
			return err
		}
	}
	keyed := isKeyed(haveTwins(list, all))
	for i := range all { // those that are added need no look
		s, l := list.At(i), all[i]
		n := int64(s.TimestampsUnixNano().Len())
		linked := s.LinkIndex() > 0
		if !linked && l.of["span_id"] == "" {
			continue
		}
		switch {
		case n == 0 || s.Values().Len() != 0 && int64(s.Values().Len()) != n:
			return errors.New("a sample of a span without a timestamp for each of its values")
		case keyed:
			m.counts.Labels += n
		case n > 1:
			rest := list.AppendEmpty() // which may move s
			s = list.At(i)
			splitSample(s, rest, l.rest)
			if linked { // it is the same for all of them, and no other label is
				m.counts.Link += n - 1
			} else {
				m.counts.Ambiguous += n - 1
				if err := m.markAmbiguous(rest); err != nil {
					return err
				}
			}
			fallthrough
		default:
			m.counts.First++
		}
		if !linked {
			if err := m.link(s, l.of); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitSample leaves the first timestamp to s, and gives the others to rest, without the
// labels.
func splitSample(s, rest pprofile.Sample, attributes []int32) {
	s.CopyTo(rest)
	rest.AttributeIndices().FromRaw(attributes)
	times, values := s.TimestampsUnixNano().AsRaw(), s.Values().AsRaw()
	s.TimestampsUnixNano().FromRaw(times[:1])
	rest.TimestampsUnixNano().FromRaw(times[1:])
	if len(values) > 0 {
		s.Values().FromRaw(values[:1])
		rest.Values().FromRaw(values[1:])
	}
}

// The attribute of samples that may be any span's. It also says that they and the first one
// are no twins, to those who look for such after this processor.
const attributionKey, ambiguous = "span_attribution", "ambiguous"

func (m message) markAmbiguous(s pprofile.Sample) error {
	key, err := pprofile.SetString(m.dict.StringTable(), attributionKey)
	if err != nil {
		return err
	}
	attribute := pprofile.NewKeyValueAndUnit()
	attribute.SetKeyStrindex(key)
	attribute.Value().SetStr(ambiguous)
	i, err := pprofile.SetAttribute(m.dict.AttributeTable(), attribute)
	if err == nil {
		s.AttributeIndices().Append(i)
	}
	return err
}

// link gives s a Link to the span of its labels, if they have both ids.
func (m message) link(s pprofile.Sample, of map[string]string) error {
	var span pcommon.SpanID
	var trace pcommon.TraceID
	if !decode(span[:], of["span_id"]) || !decode(trace[:], of["trace_id"]) {
		return nil
	}
	if m.dict.LinkTable().Len() == 0 {
		m.dict.LinkTable().AppendEmpty() // 0 is none
	}
	link := pprofile.NewLink()
	link.SetSpanID(span)
	link.SetTraceID(trace)
	i, err := pprofile.SetLink(m.dict.LinkTable(), link)
	if err == nil {
		s.SetLinkIndex(i)
	}
	return err
}

// decode reads an id; ids of the program's own are none to link to.
func decode(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) {
		return false
	}
	_, err := hex.Decode(id, []byte(text))
	return err == nil
}

// haveTwins reports whether two samples differ in their labels or Link alone. An agent
// that does not tell samples apart by them never sends such.
func haveTwins(list pprofile.SampleSlice, all []labels) bool {
	seen := make(map[string]int, len(all))
	for i, s := range list.All() {
		rest := slices.Sorted(slices.Values(all[i].rest))
		key := fmt.Sprint(s.StackIndex(), rest)
		twin, ok := seen[key]
		if ok && (list.At(twin).LinkIndex() != s.LinkIndex() || !maps.Equal(all[twin].of, all[i].of)) {
			return true
		}
		seen[key] = i
	}
	return false
}
