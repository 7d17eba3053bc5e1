// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/report"
)

// Config has the options of the exporters. The zero value has the defaults.
type Config struct {
	// SpanIDAttributes sends ids of spans as attributes too, not only as Links.
	SpanIDAttributes bool
	// Series fits profiles to Pyroscope; nil for other destinations.
	Series *series.Fitter
}

// Wait gives the error handler a moment for the last report.
func (c Config) Wait(ctx context.Context) {
	if c.Series != nil {
		c.Series.Wait(ctx)
	}
}

const (
	// maxBytes bounds a message, uncompressed. gRPC servers take 4 MiB by default. The
	// rest is for processors that add attributes.
	maxBytes = 4<<20 - 64<<10
	// maxStored bounds the pprof forms, uncompressed, that Pyroscope makes of a message:
	// one for each type of sample. It never takes more than its
	// -distributor.ingestion-burst-size-mb at once.
	maxStored = 2_000_000 - 64<<10
)

// Message returns the message of p, or nil for a profile without samples, which some servers
// refuse. If it is larger than servers take by default, the error is a RetryError that is
// TooLarge. Other errors describe why p is no valid pprof profile.
func Message(c Config, p *exporter.Profile) (*collectorpb.ExportProfilesServiceRequest, error) {
	if c.Series != nil {
		p = forPyroscope(c.Series, p)
	}
	parsed, err := p.Parsed()
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	if len(parsed.Sample) == 0 {
		return nil, nil
	}
	pprof, err := p.Pprof()
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	// A Profile from a parsed form has not been checked yet.
	if err := parsed.CheckValid(); err != nil {
		return nil, fmt.Errorf("convert: %s profile: %w", p.Kind(), err)
	}
	m := newEncoder(c, p, parsed).request()
	types := len(m.ResourceProfiles[0].ScopeProfiles[0].Profiles)
	stored, size := int64(types)*split.UncompressedSize(pprof), proto.Size(m)
	if n := len(parsed.Sample); n > 1 && (n > series.MaxSamples || stored > maxStored || size > maxBytes) {
		return nil, &exporter.RetryError{
			Err:      fmt.Errorf("convert: a message of %d samples and %d bytes is larger than servers take by default", n, size),
			Refused:  true,
			TooLarge: true,
		}
	}
	return m, nil
}

// derivesCPUTime reports whether p is a CPU profile of runtime/pprof: the time of every
// sample is its count times the period.
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

// forPyroscope returns p with labels of samples and attributes of the resource that give the
// same series as a push: Pyroscope makes a label of each.
func forPyroscope(f *series.Fitter, p *exporter.Profile) *exporter.Profile {
	p = f.Fit(p)
	app, tags := f.Tags(p.Resource())
	attrs := []attribute.KeyValue{attribute.String("service.name", app)}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		attrs = append(attrs, attribute.String(name, tags[name]))
	}
	return p.WithResource(resource.NewSchemaless(attrs...))
}

// pyroscopeNames are the names of pyroscope-go's profiles that their periods lack. By OTLP,
// Pyroscope names a profile by its period (pkg/ingester/otlp/convert.go). Mutex and block have
// the same one.
var pyroscopeNames = map[exporter.Kind]string{
	exporter.KindHeap:  "memory",
	exporter.KindMutex: "mutex",
	exporter.KindBlock: "block",
	exporter.KindWall:  "wall",
}

// pyroscopePeriod returns the period under which Pyroscope files a profile as it files a
// push. It ignores a period of 0.
func pyroscopePeriod(k exporter.Kind, t *profile.ValueType, period int64) (*profile.ValueType, int64) {
	return &profile.ValueType{Type: cmp.Or(pyroscopeNames[k], t.Type), Unit: t.Unit}, max(period, 1)
}

// Warnings reports warnings in responses through otel.Handle. It does not wait for the
// handler, which may use the exporter.
type Warnings struct {
	reporter report.Reporter
}

// Check returns an error if the server has rejected profiles of the request. It
// is permanent: OTLP forbids to repeat such a request. clean makes the server's text
// fit for a log.
func (w *Warnings) Check(server string, r *collectorpb.ExportProfilesServiceResponse, clean func(string) string) error {
	p := r.GetPartialSuccess()
	switch {
	case p.GetRejectedProfiles() > 0:
		return fmt.Errorf("%s: partial success: %d profile(s) rejected: %s", server, p.GetRejectedProfiles(), clean(p.GetErrorMessage()))
	case p.GetErrorMessage() != "":
		w.reporter.Report(fmt.Errorf("%s: profiles taken, with a warning: %s", server, clean(p.GetErrorMessage())))
	}
	return nil
}

// Wait gives the error handler a moment for the last warning.
func (w *Warnings) Wait(ctx context.Context) { w.reporter.Wait(ctx) }
