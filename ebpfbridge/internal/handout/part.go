// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"fmt"
	"slices"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
)

// part returns one process's part of a message, with the number of samples, or nil. It drops
// samples older than started, in nanoseconds since 1970. It builds a new message, field by
// field: without unknown fields and other processes' elements.
func part(m *collectorpb.ExportProfilesServiceRequest, pid int64, started uint64) (*collectorpb.ExportProfilesServiceRequest, uint64, error) {
	b := newBuilder(m.GetDictionary())
	own := &collectorpb.ExportProfilesServiceRequest{}
	for _, r := range m.GetResourceProfiles() {
		of, err := ProcessID(m.GetDictionary(), r.GetResource())
		if err != nil {
			return nil, 0, err
		}
		if of != pid {
			continue
		}
		scopes := b.scopes(r.GetScopeProfiles(), started)
		if len(scopes) == 0 {
			continue
		}
		own.ResourceProfiles = append(own.ResourceProfiles, &profilespb.ResourceProfiles{
			Resource: &resourcepb.Resource{
				Attributes:             b.keyValues(r.GetResource().GetAttributes()),
				DroppedAttributesCount: r.GetResource().GetDroppedAttributesCount(),
			},
			ScopeProfiles: scopes,
			SchemaUrl:     r.GetSchemaUrl(),
		})
	}
	if b.err != nil {
		return nil, 0, b.err
	}
	if len(own.ResourceProfiles) == 0 {
		return nil, 0, nil
	}
	own.Dictionary = b.dictionary()
	return own, b.samples, nil
}

const pidKey = "process.pid"

// ProcessID returns the process id of a resource, 0 for none. Two of them are an error.
func ProcessID(d *profilespb.ProfilesDictionary, r *resourcepb.Resource) (pid int64, err error) {
	n := 0
	for _, kv := range r.GetAttributes() {
		if kv.GetKey() == pidKey || Text(d, kv.GetKeyStrindex()) == pidKey {
			pid = kv.GetValue().GetIntValue()
			n++
		}
	}
	if n > 1 {
		return 0, fmt.Errorf("a resource has %d attributes %s", n, pidKey)
	}
	return pid, nil
}

// Text returns a string of the table, or "" for an index out of range.
func Text(d *profilespb.ProfilesDictionary, i int32) string {
	if t := d.GetStringTable(); i >= 0 && int(i) < len(t) {
		return t[i]
	}
	return ""
}

func (b *builder) scopes(list []*profilespb.ScopeProfiles, started uint64) []*profilespb.ScopeProfiles {
	var own []*profilespb.ScopeProfiles
	for _, s := range list {
		var profiles []*profilespb.Profile
		for _, p := range s.GetProfiles() {
			if p := b.profile(p, started); p != nil {
				profiles = append(profiles, p)
			}
		}
		if profiles == nil {
			continue
		}
		own = append(own, &profilespb.ScopeProfiles{
			Scope: &commonpb.InstrumentationScope{
				Name: s.GetScope().GetName(), Version: s.GetScope().GetVersion(),
				Attributes:             b.keyValues(s.GetScope().GetAttributes()),
				DroppedAttributesCount: s.GetScope().GetDroppedAttributesCount(),
			},
			Profiles:  profiles,
			SchemaUrl: s.GetSchemaUrl(),
		})
	}
	return own
}

// profile returns nil if no samples remain. It drops the original payload, which may have
// samples of the whole host.
func (b *builder) profile(p *profilespb.Profile, started uint64) *profilespb.Profile {
	var samples []*profilespb.Sample
	for _, s := range p.GetSamples() {
		if !since(s, p.GetTimeUnixNano(), started) {
			continue
		}
		b.samples += uint64(max(1, len(s.GetTimestampsUnixNano())))
		samples = append(samples, &profilespb.Sample{
			StackIndex:         b.stack(s.GetStackIndex()),
			AttributeIndices:   b.attributes(s.GetAttributeIndices()),
			LinkIndex:          b.link(s.GetLinkIndex()),
			Values:             slices.Clone(s.GetValues()),
			TimestampsUnixNano: slices.Clone(s.GetTimestampsUnixNano()),
		})
	}
	if samples == nil {
		return nil
	}
	return &profilespb.Profile{
		SampleType:             b.valueType(p.GetSampleType()),
		Samples:                samples,
		TimeUnixNano:           p.GetTimeUnixNano(),
		DurationNano:           p.GetDurationNano(),
		PeriodType:             b.valueType(p.GetPeriodType()),
		Period:                 p.GetPeriod(),
		ProfileId:              slices.Clone(p.GetProfileId()),
		DroppedAttributesCount: p.GetDroppedAttributesCount(),
		AttributeIndices:       b.attributes(p.GetAttributeIndices()),
	}
}

// since reports whether all of a sample was taken since a time. Before, another process had
// the same id, and the sample's labels may be from it.
func since(s *profilespb.Sample, profile, started uint64) bool {
	times := s.GetTimestampsUnixNano()
	if len(times) == 0 {
		return profile >= started
	}
	return slices.Min(times) >= started
}
