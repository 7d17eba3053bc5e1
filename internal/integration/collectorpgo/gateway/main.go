// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command gateway is the Collector behind those at the edge: it decides by whole
// traces which of them to keep.
package main

import (
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"

	"github.com/spanprof/spanprof/internal/integration/collectorpgo/layer"
)

func main() {
	os.Exit(layer.Run("gateway",
		[]processor.Factory{tailsamplingprocessor.NewFactory(), batchprocessor.NewFactory()},
		[]exporter.Factory{nopexporter.NewFactory()}))
}
