// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode reads the profiles in an eBPF agent's messages (OTLP, v1development).
package decode

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// Profile is a profile of a process.
type Profile struct {
	Resource *resource.Resource
	Start    time.Time // zero if absent
	Duration time.Duration
	// Sample and Period are the types and units of the samples and of the period.
	Sample, Period profile.ValueType
	// Every is the period: CPU time between two samples.
	Every   int64
	Records []Record
	// Tables has the locations, functions and mappings of the records, and no samples.
	Tables *profile.Profile
	// FrameTypes are the values of profile.frame.type, by the ids of locations: "kernel",
	// "native" or a language.
	FrameTypes map[uint64]string
}

// Record is a sample as the agent sends it.
type Record struct {
	Stack      []*profile.Location // shared between records of equal StackIndex
	StackIndex int32
	Attributes []Attribute
	// SpanID and TraceID are the ids of its Link in hexadecimal, "" without one.
	SpanID, TraceID string
	// Timestamps are in nanoseconds since 1970, Values as many or none. They must not be
	// changed.
	Timestamps []uint64
	Values     []int64
}

// Attribute is a text or a number. Values of other types are neither.
type Attribute struct {
	Key, Text string
	Number    int64
	IsNumber  bool
}

// Measured costs of the parts of a profile, in bytes allocated until it is written as pprof.
// In OTLP samples share stacks and attributes, and profiles share the tables. In pprof each
// has its own, so 50 kB of OTLP could take gigabytes.
const (
	sampleCost    = 400
	attributeCost = 350
	frameCost     = 30 // of a sample's stack
	locationCost  = 400
	lineCost      = 100
	functionCost  = 400
	timestampCost = 8
	indexCost     = 64 // of an attribute, read again for each profile
)

// Profiles returns the profiles of a message. An index out of its table's range is an error.
// So is a message that would take more than about maxMemory bytes as pprof.
func Profiles(m *collectorpb.ExportProfilesServiceRequest, maxMemory int64) ([]Profile, error) {
	d := &decoder{tables: m.GetDictionary(), left: maxMemory, attributes: map[int32]Attribute{}}
	var profiles []Profile
	for _, r := range m.GetResourceProfiles() {
		res := d.resource(r)
		for _, s := range r.GetScopeProfiles() {
			for _, p := range s.GetProfiles() {
				profiles = append(profiles, d.profile(p, res))
				switch {
				case d.err != nil:
					return nil, fmt.Errorf("decode: %w", d.err)
				case d.left < 0:
					return nil, fmt.Errorf("decode: the message would take more than %d MiB of memory as pprof", maxMemory>>20)
				}
			}
		}
	}
	return profiles, nil
}

// decoder reads the tables of a message. After an error, which it keeps, it continues with
// empty elements.
type decoder struct {
	tables     *profilespb.ProfilesDictionary
	attributes map[int32]Attribute // that were read
	left       int64               // bytes; less than 0 ends reading
	err        error

	// For the current profile:
	to        *Profile
	mappings  map[int32]*profile.Mapping
	locations map[int32]*profile.Location
	functions map[int32]*profile.Function
	stacks    map[int32][]*profile.Location
}

func (d *decoder) spend(n int, cost int64) { d.left -= int64(n) * cost }

// at returns the element of a table. An index of 0 means "not set" and needs no table.
func at[E any](d *decoder, table []E, name string, i int32) (e E) {
	switch {
	case i == 0 && len(table) == 0:
	case i < 0 || int(i) >= len(table):
		if d.err == nil {
			d.err = fmt.Errorf("%s[%d]: out of range, the table has %d elements", name, i, len(table))
		}
	default:
		e = table[i]
	}
	return e
}

func (d *decoder) text(i int32) string {
	return at(d, d.tables.GetStringTable(), "string_table", i)
}

func (d *decoder) resource(r *profilespb.ResourceProfiles) *resource.Resource {
	var attributes []attribute.KeyValue
	for _, kv := range r.GetResource().GetAttributes() {
		key := kv.GetKey()
		if i := kv.GetKeyStrindex(); i != 0 {
			key = d.text(i)
		}
		switch a := d.value(key, kv.GetValue()); {
		case a.IsNumber:
			attributes = append(attributes, attribute.Int64(key, a.Number))
		case a.Text != "":
			attributes = append(attributes, attribute.String(key, a.Text))
		}
	}
	return resource.NewWithAttributes(r.GetSchemaUrl(), attributes...)
}

func (d *decoder) value(key string, v *commonpb.AnyValue) Attribute {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_IntValue:
		return Attribute{Key: key, Number: v.IntValue, IsNumber: true}
	case *commonpb.AnyValue_StringValue:
		return Attribute{Key: key, Text: v.StringValue}
	case *commonpb.AnyValue_StringValueStrindex:
		return Attribute{Key: key, Text: d.text(v.StringValueStrindex)}
	}
	return Attribute{Key: key}
}

// read returns the attributes of a sample, mapping or location.
func (d *decoder) read(indices []int32) []Attribute {
	list := make([]Attribute, len(indices))
	for n, i := range indices {
		a, ok := d.attributes[i]
		if !ok {
			from := at(d, d.tables.GetAttributeTable(), "attribute_table", i)
			a = d.value(d.text(from.GetKeyStrindex()), from.GetValue())
			d.attributes[i] = a
		}
		list[n] = a
	}
	return list
}

func (d *decoder) valueType(t *profilespb.ValueType) profile.ValueType {
	return profile.ValueType{Type: d.text(t.GetTypeStrindex()), Unit: d.text(t.GetUnitStrindex())}
}

func (d *decoder) profile(from *profilespb.Profile, res *resource.Resource) Profile {
	d.to = &Profile{
		Resource: res, Duration: time.Duration(from.GetDurationNano()),
		Sample: d.valueType(from.GetSampleType()), Period: d.valueType(from.GetPeriodType()), Every: from.GetPeriod(),
		Records: make([]Record, 0, len(from.GetSamples())), Tables: &profile.Profile{}, FrameTypes: map[uint64]string{},
	}
	if at := from.GetTimeUnixNano(); at > 0 && at <= math.MaxInt64 {
		d.to.Start = time.Unix(0, int64(at))
	}
	d.mappings, d.locations = map[int32]*profile.Mapping{}, map[int32]*profile.Location{}
	d.functions, d.stacks = map[int32]*profile.Function{}, map[int32][]*profile.Location{}
	for i, s := range from.GetSamples() {
		if d.left < 0 || d.err != nil {
			break
		}
		d.sample(s)
		if d.err != nil {
			d.err = fmt.Errorf("sample %d: %w", i, d.err)
		}
	}
	// In the order of the table: pprof takes the first one for the program.
	for _, i := range slices.Sorted(maps.Keys(d.mappings)) {
		d.to.Tables.Mapping = append(d.to.Tables.Mapping, d.mappings[i])
		d.mappings[i].ID = uint64(len(d.to.Tables.Mapping))
	}
	return *d.to
}

func (d *decoder) sample(s *profilespb.Sample) {
	stack := d.stack(s.GetStackIndex())
	d.spend(1, sampleCost)
	d.spend(len(stack), frameCost)
	d.spend(len(s.GetTimestampsUnixNano()), timestampCost)
	d.spend(len(s.GetAttributeIndices()), attributeCost)
	if n := len(s.GetValues()); n != 0 && n != len(s.GetTimestampsUnixNano()) {
		d.err = cmp.Or(d.err, fmt.Errorf("%d values for %d timestamps", n, len(s.GetTimestampsUnixNano())))
	}
	if d.left < 0 || d.err != nil {
		return
	}
	r := Record{
		Stack: stack, StackIndex: s.GetStackIndex(), Attributes: d.read(s.GetAttributeIndices()),
		Timestamps: s.GetTimestampsUnixNano(), Values: s.GetValues(),
	}
	if i := s.GetLinkIndex(); i != 0 {
		link := at(d, d.tables.GetLinkTable(), "link_table", i)
		r.TraceID, r.SpanID = hex.EncodeToString(link.GetTraceId()), hex.EncodeToString(link.GetSpanId())
		if len(r.TraceID) != 32 || len(r.SpanID) != 16 {
			d.err = cmp.Or(d.err, fmt.Errorf("link_table[%d]: ids of %d and %d bytes, want 16 and 8", i, len(r.TraceID)/2, len(r.SpanID)/2))
		}
	}
	d.to.Records = append(d.to.Records, r)
}

func (d *decoder) stack(i int32) []*profile.Location {
	if stack, ok := d.stacks[i]; ok {
		return stack
	}
	indices := at(d, d.tables.GetStackTable(), "stack_table", i).GetLocationIndices()
	stack := make([]*profile.Location, len(indices))
	for n, l := range indices {
		if d.left < 0 {
			return nil
		}
		stack[n] = d.location(l)
	}
	d.stacks[i] = stack
	return stack
}

func (d *decoder) location(i int32) *profile.Location {
	if l, ok := d.locations[i]; ok {
		return l
	}
	from := at(d, d.tables.GetLocationTable(), "location_table", i)
	d.spend(1, locationCost)
	d.spend(len(from.GetLines()), lineCost)
	d.spend(len(from.GetAttributeIndices()), indexCost)
	l := &profile.Location{ID: uint64(len(d.to.Tables.Location)) + 1, Address: from.GetAddress(), Mapping: d.mapping(from.GetMappingIndex())}
	for _, line := range from.GetLines() {
		if d.left < 0 {
			break
		}
		l.Line = append(l.Line, profile.Line{Function: d.function(line.GetFunctionIndex()), Line: line.GetLine(), Column: line.GetColumn()})
	}
	if d.left >= 0 {
		for _, a := range d.read(from.GetAttributeIndices()) {
			if a.Key == string(semconv.ProfileFrameTypeKey) {
				d.to.FrameTypes[l.ID] = a.Text
			}
		}
	}
	d.to.Tables.Location = append(d.to.Tables.Location, l)
	d.locations[i] = l
	return l
}

func (d *decoder) function(i int32) *profile.Function {
	if f, ok := d.functions[i]; ok {
		return f
	}
	from := at(d, d.tables.GetFunctionTable(), "function_table", i)
	d.spend(1, functionCost)
	f := &profile.Function{
		ID: uint64(len(d.to.Tables.Function)) + 1, Name: d.text(from.GetNameStrindex()), SystemName: d.text(from.GetSystemNameStrindex()),
		Filename: d.text(from.GetFilenameStrindex()), StartLine: from.GetStartLine(),
	}
	d.to.Tables.Function = append(d.to.Tables.Function, f)
	d.functions[i] = f
	return f
}

// mapping returns nil for index 0.
func (d *decoder) mapping(i int32) *profile.Mapping {
	if m, ok := d.mappings[i]; ok || i == 0 {
		return m
	}
	from := at(d, d.tables.GetMappingTable(), "mapping_table", i)
	d.spend(len(from.GetAttributeIndices()), indexCost)
	m := &profile.Mapping{Start: from.GetMemoryStart(), Limit: from.GetMemoryLimit(), Offset: from.GetFileOffset(), File: d.text(from.GetFilenameStrindex())}
	for _, a := range d.read(from.GetAttributeIndices()) {
		switch attribute.Key(a.Key) {
		case semconv.ProcessExecutableBuildIDGNUKey:
			m.BuildID = a.Text
		case semconv.ProcessExecutableBuildIDGoKey:
			m.BuildID = cmp.Or(m.BuildID, a.Text)
		}
	}
	d.mappings[i] = m
	return m
}
