// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"github.com/spanprof/spanprof/exporter"
)

// scopeName is the instrumentation scope of the profiles.
const scopeName = "github.com/spanprof/spanprof"

// encoder makes the message of one profile.
type encoder struct {
	config  Config
	profile *exporter.Profile
	pprof   *profile.Profile
	dict    *dictionary
	labels  labelEncoder

	mappings  map[*profile.Mapping]int32
	locations map[*profile.Location]int32
	buf       []byte // the key of a location or stack
}

func newEncoder(c Config, p *exporter.Profile, pprof *profile.Profile) *encoder {
	dict := newDictionary()
	return &encoder{
		config:    c,
		profile:   p,
		pprof:     pprof,
		dict:      dict,
		labels:    newLabelEncoder(c, dict, pprof),
		mappings:  make(map[*profile.Mapping]int32, len(pprof.Mapping)),
		locations: make(map[*profile.Location]int32, len(pprof.Location)),
	}
}

func (e *encoder) request() *collectorpb.ExportProfilesServiceRequest {
	e.addMappings()
	res := e.profile.Resource()
	return &collectorpb.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource:  &resourcepb.Resource{Attributes: keyValues(res.Attributes())},
			SchemaUrl: validUTF8(res.SchemaURL()),
			ScopeProfiles: []*profilespb.ScopeProfiles{{
				Scope:     e.scope(),
				SchemaUrl: semconv.SchemaURL,
				Profiles:  e.profiles(),
			}},
		}},
		Dictionary: e.dict.tables,
	}
}

// scope has the kind: the sample types of mutex and block are the same.
func (e *encoder) scope() *commonpb.InstrumentationScope {
	scope := &commonpb.InstrumentationScope{Name: scopeName}
	if e.config.Series == nil { // each attribute would be a label of the series
		scope.Attributes = keyValues([]attribute.KeyValue{attribute.String("spanprof.profile.kind", string(e.profile.Kind()))})
	}
	return scope
}

// profiles returns one profile for each column of values that is sent.
func (e *encoder) profiles() []*profilespb.Profile {
	columns := len(e.pprof.SampleType)
	if derivesCPUTime(e.pprof) {
		columns = 1
	}
	n := len(e.pprof.Sample)
	samples := make([]profilespb.Sample, columns*n)
	values := make([]int64, columns*n)
	profiles := make([]*profilespb.Profile, columns)
	for c := range profiles {
		profiles[c] = e.header(c)
		profiles[c].Samples = make([]*profilespb.Sample, n)
	}
	for i, s := range e.pprof.Sample {
		stack := e.stack(s.Location)
		link, attributes := e.labels.encode(s)
		for c, p := range profiles {
			sample, value := &samples[c*n+i], values[c*n+i:][:1:1]
			value[0] = s.Value[c]
			sample.StackIndex, sample.LinkIndex = stack, link
			sample.AttributeIndices, sample.Values = attributes, value
			p.Samples[i] = sample
		}
	}
	return profiles
}

// header returns the profile of a column without its samples.
func (e *encoder) header(column int) *profilespb.Profile {
	sampleType := e.pprof.SampleType[column]
	periodType := e.pprof.PeriodType
	if periodType == nil || isType(periodType, "", "") {
		periodType = sampleType // Pyroscope and others name the profile by it.
	}
	period := e.pprof.Period
	if e.config.Series != nil {
		periodType, period = pyroscopePeriod(e.profile.Kind(), periodType, period)
	}
	// runtime/pprof's heap profiles have the time at the end of the window, and
	// no duration: the window takes precedence.
	start, duration := e.profile.Start().UnixNano(), e.profile.Duration().Nanoseconds()
	if e.profile.Start().IsZero() {
		start, duration = e.pprof.TimeNanos, e.pprof.DurationNanos
	}
	return &profilespb.Profile{
		SampleType:   e.dict.valueType(sampleType.Type, sampleType.Unit),
		TimeUnixNano: uint64(start),
		DurationNano: uint64(duration),
		PeriodType:   e.dict.valueType(periodType.Type, periodType.Unit),
		Period:       period,
	}
}

// stack returns the index of a stack, leaf first as in pprof.
func (e *encoder) stack(locations []*profile.Location) int32 {
	indices := make([]int32, len(locations))
	for i, l := range locations {
		indices[i] = e.location(l)
	}
	key := e.buf[:0]
	for _, i := range indices {
		key = binary.AppendUvarint(key, uint64(i))
	}
	e.buf = key
	if i, ok := e.dict.stacks[string(key)]; ok { // without a copy of key
		return i
	}
	return index(e.dict.stacks, &e.dict.tables.StackTable, string(key), func() *profilespb.Stack {
		return &profilespb.Stack{LocationIndices: indices}
	})
}
