// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// profileDecoder makes one pprof profile with its own tables.
type profileDecoder struct {
	*decoder
	linkHasProfileID bool
	profile          *profile.Profile
	timestamps       [][]uint64        // of the profile's samples
	spanIDs          []string          // of their Links
	frameTypes       map[uint64]string // by the ids of locations

	mappings  map[int32]*profile.Mapping
	locations map[int32]*profile.Location
	functions map[int32]*profile.Function
	stacks    map[int32][]*profile.Location // samples share them
}

// profile decodes a pprof profile. Each column is a sample type.
func (d *decoder) profile(columns []*profilespb.Profile, scope attribute.Set, deriveCPUTime bool) (*profileDecoder, error) {
	first := columns[0]
	linkHasProfileID, _ := scope.Value(linkProfileIDKey)
	defaultSampleType, _ := scope.Value(semconv.PprofScopeDefaultSampleTypeKey)
	pd := &profileDecoder{
		decoder:          d,
		linkHasProfileID: linkHasProfileID.AsBool(),
		profile: &profile.Profile{
			TimeNanos:         int64(first.GetTimeUnixNano()),
			DurationNanos:     int64(first.GetDurationNano()),
			Period:            first.GetPeriod(),
			DefaultSampleType: defaultSampleType.AsString(),
		},
		frameTypes: map[uint64]string{},
		mappings:   map[int32]*profile.Mapping{},
		locations:  map[int32]*profile.Location{},
		functions:  map[int32]*profile.Function{},
		stacks:     map[int32][]*profile.Location{},
	}
	if err := pd.header(columns); err != nil {
		return nil, err
	}
	for i := range first.GetSamples() {
		if err := pd.sample(columns, i); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
	}
	if deriveCPUTime {
		pd.addCPUTime()
	}
	pd.addMappings()
	return pd, nil
}

func (d *profileDecoder) header(columns []*profilespb.Profile) error {
	p := d.profile
	for _, c := range columns {
		t, err := d.valueType(c.GetSampleType())
		if err != nil {
			return fmt.Errorf("sample_type: %w", err)
		}
		p.SampleType = append(p.SampleType, t)
	}
	var err error
	if p.PeriodType, err = d.valueType(columns[0].GetPeriodType()); err != nil {
		return fmt.Errorf("period_type: %w", err)
	}
	attrs, err := d.attributes(columns[0].GetAttributeIndices())
	if err != nil {
		return err
	}
	text := func(key attribute.Key) string {
		v, _ := attrs.Value(key)
		return v.AsString()
	}
	comments, _ := attrs.Value(semconv.PprofProfileCommentKey)
	p.Comments = comments.AsStringSlice()
	p.DocURL = text(semconv.PprofProfileDocURLKey)
	p.DropFrames = text(semconv.PprofProfileDropFramesKey)
	p.KeepFrames = text(semconv.PprofProfileKeepFramesKey)
	return nil
}

func (d *decoder) valueType(t *profilespb.ValueType) (*profile.ValueType, error) {
	name, err := d.string(t.GetTypeStrindex())
	if err != nil {
		return nil, err
	}
	unit, err := d.string(t.GetUnitStrindex())
	if err != nil {
		return nil, err
	}
	return &profile.ValueType{Type: name, Unit: unit}, nil
}

// sample adds the sample that has place i in all columns.
func (d *profileDecoder) sample(columns []*profilespb.Profile, i int) error {
	s := &profile.Sample{Value: make([]int64, len(columns), len(columns)+1)}
	for c, column := range columns {
		var err error
		if s.Value[c], err = weight(column.GetSamples()[i]); err != nil {
			return err
		}
	}
	first := columns[0].GetSamples()[i]
	var err error
	if s.Location, err = d.stack(first.GetStackIndex()); err != nil {
		return err
	}
	if err := cmp.Or(d.spend(1, sampleCost), d.spend(len(s.Location), frameCost), d.spend(len(first.GetTimestampsUnixNano()), timestampCost)); err != nil {
		return err
	}
	for _, a := range first.GetAttributeIndices() {
		l, err := d.label(a)
		if err != nil {
			return err
		}
		if err := cmp.Or(d.spend(1, attributeCost), d.spend(len(l.texts)+len(l.nums), valueCost)); err != nil {
			return err
		}
		if err := l.addTo(s); err != nil {
			return err
		}
	}
	spanID, err := d.addLink(s, first.GetLinkIndex())
	if err != nil {
		return err
	}
	d.profile.Sample = append(d.profile.Sample, s)
	d.timestamps = append(d.timestamps, first.GetTimestampsUnixNano())
	d.spanIDs = append(d.spanIDs, spanID)
	return nil
}

// weight returns what a sample stands for in all: the sum of its values, or 1
// for each timestamp.
func weight(s *profilespb.Sample) (int64, error) {
	values, timestamps := s.GetValues(), s.GetTimestampsUnixNano()
	switch {
	case len(values) == 0 && len(timestamps) == 0:
		return 0, errors.New("no values and no timestamps")
	case len(values) == 0:
		return int64(len(timestamps)), nil
	case len(timestamps) != 0 && len(timestamps) != len(values):
		return 0, fmt.Errorf("%d values for %d timestamps", len(values), len(timestamps))
	}
	var sum int64
	for _, v := range values {
		sum += v
	}
	return sum, nil
}

// addLink adds the labels that a Link stands for, and returns its span's id. Those that
// the sample has as attributes too are the same.
func (d *profileDecoder) addLink(s *profile.Sample, i int32) (spanID string, err error) {
	link, err := at(d.tables.GetLinkTable(), "link_table", i)
	if err != nil || i == 0 {
		return "", err
	}
	if err := d.spend(1, linkCost); err != nil {
		return "", err
	}
	if len(link.GetTraceId()) != 16 || len(link.GetSpanId()) != 8 {
		return "", fmt.Errorf("link_table[%d]: ids of %d and %d bytes, want 16 and 8", i, len(link.GetTraceId()), len(link.GetSpanId()))
	}
	spanID = hex.EncodeToString(link.GetSpanId())
	labels := map[string]string{labelkey.TraceID: hex.EncodeToString(link.GetTraceId()), labelkey.SpanID: spanID}
	if d.linkHasProfileID {
		labels[labelkey.ProfileID] = spanID
	}
	if s.Label == nil {
		s.Label = make(map[string][]string, len(labels))
	}
	for key, id := range labels {
		if _, ok := s.Label[key]; !ok {
			s.Label[key] = []string{id}
		}
	}
	return spanID, nil
}

// addCPUTime adds the column that Go's CPU profiles have beside the count.
func (d *profileDecoder) addCPUTime() {
	p := d.profile
	if len(p.SampleType) != 1 || !isType(p.SampleType[0], "samples", "count") ||
		!isType(p.PeriodType, "cpu", "nanoseconds") {
		return
	}
	p.SampleType = append(p.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	for _, s := range p.Sample {
		s.Value = append(s.Value, s.Value[0]*p.Period)
	}
}

// addMappings lists the mappings in the order of the table: pprof takes the
// first one for the program.
func (d *profileDecoder) addMappings() {
	for _, i := range slices.SortedFunc(maps.Keys(d.mappings), cmp.Compare[int32]) {
		m := d.mappings[i]
		d.profile.Mapping = append(d.profile.Mapping, m)
		m.ID = uint64(len(d.profile.Mapping))
	}
}
