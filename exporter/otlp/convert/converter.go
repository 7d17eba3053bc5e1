// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
)

// Converter turns profiles into OTLP messages. It is safe for concurrent use.
type Converter struct {
	config config
}

// New returns a Converter. The error is of an option's value.
func New(opts ...Option) (*Converter, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Converter{config: c}, nil
}

// Request returns the message of p, of which it keeps and changes nothing. The
// error says why p is no valid pprof profile.
func (c *Converter) Request(p *exporter.Profile) (*collectorpb.ExportProfilesServiceRequest, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	// A Profile that was made from the parsed form has not been checked yet.
	if err := parsed.CheckValid(); err != nil {
		return nil, fmt.Errorf("convert: %s profile: %w", p.Kind(), err)
	}
	if len(parsed.SampleType) == 0 {
		return nil, fmt.Errorf("convert: %s profile: %w", p.Kind(), errNoSampleType)
	}
	e := newEncoder(c.config, p, parsed)
	return e.request(), nil
}

var errNoSampleType = errors.New("no sample type")

// derivesCPUTime reports whether p is a CPU profile as runtime/pprof makes it:
// the time of every sample is its count times the period.
func derivesCPUTime(p *profile.Profile) bool {
	if len(p.SampleType) != 2 || !isType(p.SampleType[0], "samples", "count") ||
		!isType(p.SampleType[1], "cpu", "nanoseconds") || !isType(p.PeriodType, "cpu", "nanoseconds") {
		return false
	}
	for _, s := range p.Sample {
		if s.Value[1] != s.Value[0]*p.Period {
			return false
		}
	}
	return true
}

func isType(t *profile.ValueType, name, unit string) bool {
	return t != nil && t.Type == name && t.Unit == unit
}
