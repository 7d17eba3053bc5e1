// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command edge is the Collector beside the services: it takes their spans,
// changes attributes and sends batches on.
package main

import (
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/attributesprocessor"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"

	"github.com/spanprof/spanprof/internal/integration/collectorpgo/layer"
)

func main() {
	os.Exit(layer.Run("edge",
		[]processor.Factory{attributesprocessor.NewFactory(), batchprocessor.NewFactory()},
		[]exporter.Factory{otlpexporter.NewFactory(), nopexporter.NewFactory()}))
}
