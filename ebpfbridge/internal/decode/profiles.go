// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode turns messages of OTLP's profiles signal (v1development) into pprof
// profiles.
package decode

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
)

// Timed is a profile with the facts that pprof has no place for.
type Timed struct {
	*exporter.Profile
	// Timestamps are the times of each sample of the parsed profile, in nanoseconds since
	// 1970. The message has them too: they must not be changed.
	Timestamps [][]uint64
	// SpanIDs are the ids of the samples' Links, by the same index, in hexadecimal; ""
	// without a Link. The label span_id may come from an attribute instead.
	SpanIDs []string
	// FrameTypes are the values of profile.frame.type, by the ids of locations:
	// "kernel", "native" or a language.
	FrameTypes map[uint64]string
	// Scope is the measuring program.
	Scope instrumentation.Scope
}

// Profiles returns the profiles of a message, from whatever program it comes. A message
// that would take more than about maxMemory bytes as pprof is an error: in pprof
// nothing is shared between samples, or between profiles.
//
// The profiles of a scope that were one in pprof, by the scope's attribute
// pprof.scope.sample_type_order, are one again. Profiles of samples/count with a period of CPU
// time get Go's second column, cpu/nanoseconds. It is the count times the period. They do not
// if their scope has a profile of cpu/nanoseconds. A sample
// with timestamps and no values counts 1 for each of them.
//
// A Link becomes the labels trace_id and span_id. Attributes of samples become
// labels under their own names: text and integers unchanged, others as
// [attribute.Value.String] writes them. This text may have 64 KiB in a label and
// 4 MiB in a message; more is an error. Attributes without a place in pprof are left out.
//
// An index out of its table's range is an error with its place. So is any other violation of
// the format. No profile is returned then.
//
// [attribute.Value.String]: https://pkg.go.dev/go.opentelemetry.io/otel/attribute#Value.String
func Profiles(m *collectorpb.ExportProfilesServiceRequest, maxMemory int64) ([]Timed, error) {
	d := newDecoder(m.GetDictionary(), maxMemory)
	var profiles []Timed
	for _, r := range m.GetResourceProfiles() {
		res, err := d.resource(r)
		if err != nil {
			return nil, fmt.Errorf("decode: resource: %w", err)
		}
		for _, s := range r.GetScopeProfiles() {
			decoded, err := d.scopeProfiles(res, s)
			if err != nil {
				return nil, fmt.Errorf("decode: %w", err)
			}
			profiles = append(profiles, decoded...)
		}
	}
	return profiles, nil
}
