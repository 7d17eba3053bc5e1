// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"context"
	"log"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/profiler"
)

// Push CPU and heap profiles to Grafana Cloud, and keep them for up to an hour without
// network.
func ExampleNew() {
	ctx := context.Background()
	exp, err := pyroscope.New("https://profiles-prod-001.grafana.net",
		pyroscope.WithBasicAuth("123456", "glc_token"),
		pyroscope.WithTags(map[string]string{"team": "checkout"}),
		pyroscope.WithQueue(exporter.QueueConfig{
			MaxBytes: 256 << 20,
			MaxAge:   55 * time.Minute, // the server takes an hour
		}))
	if err != nil {
		log.Print(err)
		return
	}
	p, err := profiler.New(exp, profiler.WithResource(resource.Default()))
	if err != nil {
		log.Print(err)
		return
	}
	// At the end of the program; the profiler shuts the exporter down.
	if err := p.Shutdown(ctx); err != nil {
		log.Print(err)
	}
}
