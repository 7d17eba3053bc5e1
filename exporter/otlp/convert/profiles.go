// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
)

// Profiles returns the profiles of a message, from whatever program it comes.
//
// The profiles of a scope that were one in pprof, by the scope's attribute
// pprof.scope.sample_type_order, are one again. Profiles of samples/count whose
// period is CPU time get Go's second column, cpu/nanoseconds, the count times
// the period, unless their scope has a profile of cpu/nanoseconds too. A sample
// that has timestamps and no values counts 1 for each of them. Timestamps have no place
// in pprof: they become the profiles' SampleTimes, without the values of each.
//
// A Link becomes the labels trace_id and span_id. Attributes of samples become
// labels under their own names: text and integers as they are, others as
// [attribute.Value.String] writes them. That text may have 64 KiB in a label and
// 4 MiB in a message; more is an error. Attributes for which pprof has no place
// (those of profiles, locations and mappings that this package does not write)
// are left out.
//
// In pprof nothing is shared between samples, or between profiles. A message that
// would take more than about 512 MiB of memory as pprof is an error too; 100,000
// samples with 40 frames, a Link and 4 attributes each take less.
//
// An index out of its table's range, or another break of the format's rules,
// is an error that says where, and no profile is returned.
//
// [attribute.Value.String]: https://pkg.go.dev/go.opentelemetry.io/otel/attribute#Value.String
func Profiles(m *collectorpb.ExportProfilesServiceRequest) ([]*exporter.Profile, error) {
	timed, err := TimedProfiles(m, defaultMaxCost)
	if err != nil {
		return nil, err
	}
	var profiles []*exporter.Profile
	for _, t := range timed {
		p, err := t.withTimestamps()
		if err != nil {
			return nil, fmt.Errorf("convert: %w", err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// Timed is a profile with what pprof has no place for.
type Timed struct {
	*exporter.Profile
	// Timestamps are those of each sample of the parsed profile, in nanoseconds
	// since 1970. The message has them too: they must not be changed.
	Timestamps [][]uint64
	// SpanIDs are those of the samples' Links, by the same index, in hexadecimal; ""
	// without a Link. The label span_id may come from an attribute instead.
	SpanIDs []string
	// FrameTypes are the values of profile.frame.type, by the ids of locations:
	// "kernel", "native" or a language.
	FrameTypes map[uint64]string
	// Scope is the program that measured.
	Scope instrumentation.Scope
}

// TimedProfiles is Profiles for those who need all that the message says. A
// message that would take more than about maxMemory bytes as pprof is an error.
func TimedProfiles(m *collectorpb.ExportProfilesServiceRequest, maxMemory int64) ([]Timed, error) {
	d := newDecoder(m.GetDictionary(), maxMemory)
	var profiles []Timed
	for _, r := range m.GetResourceProfiles() {
		res, err := d.resource(r)
		if err != nil {
			return nil, fmt.Errorf("convert: resource: %w", err)
		}
		for _, s := range r.GetScopeProfiles() {
			decoded, err := d.scopeProfiles(res, s)
			if err != nil {
				return nil, fmt.Errorf("convert: %w", err)
			}
			profiles = append(profiles, decoded...)
		}
	}
	return profiles, nil
}
