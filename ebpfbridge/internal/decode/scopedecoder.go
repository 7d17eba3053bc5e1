// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
)

// Attributes of the scope that spanprof's OTLP exporters write.
const (
	kindKey          = attribute.Key("spanprof.profile.kind")
	linkProfileIDKey = attribute.Key("spanprof.link.profile_id")
)

// scopeProfiles returns the profiles of a scope.
func (d *decoder) scopeProfiles(res *resource.Resource, s *profilespb.ScopeProfiles) ([]Timed, error) {
	kvs, err := d.keyValues(s.GetScope().GetAttributes())
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	scope := attribute.NewSet(kvs...)
	order := sampleTypeOrder(scope)
	// Not if pprof had the count alone. Not if the sender sends the time, which would count
	// twice.
	deriveCPUTime := len(order) != 1 && !slices.ContainsFunc(s.GetProfiles(), d.isCPUTime)

	var profiles []Timed
	for _, columns := range groups(s.GetProfiles(), order) {
		pd, err := d.profile(columns, scope, deriveCPUTime)
		if err != nil {
			return nil, fmt.Errorf("profile %q: %w", hex.EncodeToString(columns[0].GetProfileId()), err)
		}
		p := pd.profile
		profiles = append(profiles, Timed{
			Profile: exporter.NewParsedProfile(exporter.Window{
				Kind:     kindOf(p, scope),
				Start:    startOf(p),
				Duration: time.Duration(p.DurationNanos),
				Resource: res,
			}, p),
			Timestamps: pd.timestamps,
			SpanIDs:    pd.spanIDs,
			FrameTypes: pd.frameTypes,
			Scope:      instrumentation.Scope{Name: s.GetScope().GetName(), Version: s.GetScope().GetVersion()},
		})
	}
	return profiles, nil
}

func (d *decoder) isCPUTime(p *profilespb.Profile) bool {
	t, err := d.valueType(p.GetSampleType())
	return err == nil && isType(t, "cpu", "nanoseconds")
}

func startOf(p *profile.Profile) time.Time {
	if p.TimeNanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, p.TimeNanos)
}

// sampleTypeOrder returns the places that a scope's profiles had in pprof, or nil if unknown.
func sampleTypeOrder(scope attribute.Set) []int64 {
	v, ok := scope.Value(semconv.PprofScopeSampleTypeOrderKey)
	if !ok {
		return nil
	}
	order := v.AsInt64Slice()
	for i, place := range slices.Sorted(slices.Values(order)) {
		if place != int64(i) {
			return nil
		}
	}
	return order
}

// groups splits the profiles of a scope into those that are the columns of one
// pprof profile, in its order: all of them if the scope has an order and their samples agree.
// Otherwise each is alone.
func groups(profiles []*profilespb.Profile, order []int64) [][]*profilespb.Profile {
	if len(profiles) > 1 && len(profiles) == len(order) && sameSamples(profiles) {
		columns := make([]*profilespb.Profile, len(profiles))
		for i, place := range order {
			columns[place] = profiles[i]
		}
		return [][]*profilespb.Profile{columns}
	}
	alone := make([][]*profilespb.Profile, len(profiles))
	for i := range profiles {
		alone[i] = profiles[i : i+1]
	}
	return alone
}

func sameSamples(profiles []*profilespb.Profile) bool {
	first := profiles[0]
	for _, p := range profiles[1:] {
		if p.GetTimeUnixNano() != first.GetTimeUnixNano() || p.GetDurationNano() != first.GetDurationNano() ||
			p.GetPeriod() != first.GetPeriod() {
			return false
		}
		if !slices.EqualFunc(p.GetSamples(), first.GetSamples(), func(a, b *profilespb.Sample) bool {
			return a.GetStackIndex() == b.GetStackIndex() && a.GetLinkIndex() == b.GetLinkIndex() &&
				slices.Equal(a.GetAttributeIndices(), b.GetAttributeIndices())
		}) {
			return false
		}
	}
	return true
}

// kindOf returns the kind from the scope, or from the sample types. pprof's mutex and block
// profiles have the same types, so other kinds have the name of their first type.
func kindOf(p *profile.Profile, scope attribute.Set) exporter.Kind {
	if v, ok := scope.Value(kindKey); ok {
		return exporter.Kind(v.AsString())
	}
	switch name := p.SampleType[0].Type; {
	case name == "cpu" || isType(p.PeriodType, "cpu", "nanoseconds"):
		return exporter.KindCPU
	case slices.Contains([]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, name):
		return exporter.KindHeap
	default:
		return exporter.Kind(name)
	}
}

func isType(t *profile.ValueType, name, unit string) bool {
	return t != nil && t.Type == name && t.Unit == unit
}
