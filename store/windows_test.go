// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// of is inWindow for a service and its version.
func of(service, version string, n int, kind exporter.Kind, p *profile.Profile) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind: kind, Start: epoch.Add(time.Duration(n) * step), Duration: step,
		Resource: resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version)),
	}, p)
}

// Versions of a service differ in the resource, unless a sample has a label of that
// name.
func TestServiceMatchers(t *testing.T) {
	s := newStore(t)
	export(
		t, s,
		of("cart", "1.1", 1, exporter.KindCPU, cpuProfile(sample{"c", 1, nil})),
		of("cart", "1.0", 0, exporter.KindCPU, cpuProfile(sample{"a", 1, nil}, sample{"b", 1, labels("service_name", "proxied")})),
		of("shop", "1.1", 2, exporter.KindCPU, cpuProfile(sample{"d", 1, labels("service_version", "2")})),
	)
	if windows := s.Windows(); windows[0].ServiceVersion != "1.0" {
		t.Errorf("windows are not sorted by time: %+v", windows)
	}
	for _, test := range []matched{
		{"service_name", store.MatchEqual, "cart", "ac"},
		{"service_name", store.MatchNotEqual, "cart", "bd"},
		{"service_name", store.MatchEqual, "proxied", "b"},
		{"service_version", store.MatchEqual, "1.1", "c"},
		{"service_version", store.MatchRegexp, "1.*", "abc"},
		{"service_version", store.MatchEqual, "2", "d"},
	} {
		test.check(t, s)
	}
}
