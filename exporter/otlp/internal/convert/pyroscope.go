// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/series"
)

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

// pyroscopeNames are the names of pyroscope-go's profiles that their periods lack. By OTLP, Pyroscope names a profile by its period
// (pkg/ingester/otlp/convert.go). Mutex and block have the same one.
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
