// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesprocessor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/spanprof/spanprof/internal/attribution"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// split splits the samples of one message, which came over a connection. It counts samples with
// the labels or the Link of a span, by values of labelkey.SpanAttribution: each timestamp is
// one. After an error the message must not be used: it breaks the
// format's rules.
func split(agents *attribution.Agents, connection string, td pprofile.Profiles) (counts map[string]int64, err error) {
	m := message{dict: td.Dictionary(), counts: map[string]int64{}}
	for _, r := range td.ResourceProfiles().All() {
		for _, scope := range r.ScopeProfiles().All() {
			from := connection + "\n" + scope.Scope().Name() + "\n" + scope.Scope().Version()
			for _, p := range scope.Profiles().All() {
				if err := m.split(p.Samples(), from, agents); err != nil {
					return nil, fmt.Errorf("spanprof: %w", err)
				}
			}
		}
	}
	return m.counts, nil
}

// message is a message that is split.
type message struct {
	dict   pprofile.ProfilesDictionary
	counts map[string]int64
}

// record returns a sample as the rules see it, and its attributes that are no labels.
func (m message) record(s pprofile.Sample) (r attribution.Record, rest []int32, err error) {
	r.Labels = map[string]string{}
	table, texts := m.dict.AttributeTable(), m.dict.StringTable()
	for _, i := range s.AttributeIndices().All() {
		if i < 0 || int(i) >= table.Len() {
			return r, nil, fmt.Errorf("attribute %d of %d", i, table.Len())
		}
		kv := table.At(int(i))
		if key := kv.KeyStrindex(); key < 0 || int(key) >= texts.Len() {
			return r, nil, fmt.Errorf("string %d of %d", key, texts.Len())
		}
		key, isLabel := attribution.Label(texts.At(int(kv.KeyStrindex())))
		if isLabel {
			r.Labels[key] = kv.Value().AsString()
			continue
		}
		rest = append(rest, i)
		r.Split = r.Split || key == labelkey.SpanAttribution && kv.Value().AsString() == labelkey.Ambiguous
	}
	r.Rest = fmt.Sprint(s.StackIndex(), slices.Sorted(slices.Values(rest)))
	if i := s.LinkIndex(); i > 0 {
		r.Link = strconv.Itoa(int(i))
	}
	return r, rest, nil
}

func (m message) split(list pprofile.SampleSlice, from string, agents *attribution.Agents) error {
	all, rests := make([]attribution.Record, list.Len()), make([][]int32, list.Len())
	for i, s := range list.All() {
		var err error
		if all[i], rests[i], err = m.record(s); err != nil {
			return err
		}
	}
	keyed := agents.Keyed(from, all)
	for i, r := range all { // those that are added have been split
		s := list.At(i)
		n := int64(s.TimestampsUnixNano().Len())
		if r.Split || r.Link == "" && r.Labels[labelkey.SpanID] == "" {
			continue
		}
		if n == 0 || s.Values().Len() != 0 && int64(s.Values().Len()) != n {
			return errors.New("a sample of a span without a timestamp for each of its values")
		}
		if _, later := r.Witnesses(keyed); keyed {
			m.counts[labelkey.ByLabels] += n
		} else {
			m.counts[labelkey.First]++
			if n > 1 {
				rest := list.AppendEmpty() // which may move s
				s = list.At(i)
				splitSample(s, rest, rests[i])
				if err := m.mark(rest, later, n-1); err != nil {
					return err
				}
			}
		}
		if r.Link == "" {
			if err := m.link(s, r.Labels); err != nil {
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

// mark counts the later samples of a record, and marks ambiguous ones. The mark also keeps
// them from being twins of the first one, for a reader after this processor.
func (m message) mark(s pprofile.Sample, by string, n int64) error {
	m.counts[by] += n
	if by == labelkey.ByLink { // it is the same for all of them, and no other label is
		return nil
	}
	key, err := pprofile.SetString(m.dict.StringTable(), labelkey.SpanAttribution)
	if err != nil {
		return err
	}
	attribute := pprofile.NewKeyValueAndUnit()
	attribute.SetKeyStrindex(key)
	attribute.Value().SetStr(labelkey.Ambiguous)
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
	if !decode(span[:], of[labelkey.SpanID]) || !decode(trace[:], of[labelkey.TraceID]) {
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

// decode reads an id. Ids that a program made up have other lengths, and get no Link.
func decode(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) {
		return false
	}
	_, err := hex.Decode(id, []byte(text))
	return err == nil
}
