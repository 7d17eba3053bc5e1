// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command collector is an OpenTelemetry Collector for the tests of internal/integration.
// examples/collector-pgo builds it with its own profile, so it has the processors of a usual
// gateway. It is a module of its own and no part of the workspace: its dependencies are many.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/pprofextension"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/attributesprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/filterprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/spanprof/spanprof/ebpfbridge/profilesprocessor"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "Collector for tests", Version: "0.161.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
			DefaultScheme:     "env",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func factories() (f otelcol.Factories, err error) {
	var errs [4]error
	f.Extensions, errs[0] = otelcol.MakeFactoryMap[extension.Factory](pprofextension.NewFactory())
	f.Receivers, errs[1] = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	f.Processors, errs[2] = otelcol.MakeFactoryMap[processor.Factory](
		profilesprocessor.NewFactory(), memorylimiterprocessor.NewFactory(), filterprocessor.NewFactory(), attributesprocessor.NewFactory(),
		transformprocessor.NewFactory(), tailsamplingprocessor.NewFactory(), batchprocessor.NewFactory(),
	)
	f.Exporters, errs[3] = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory(), fileexporter.NewFactory(), nopexporter.NewFactory())
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, errors.Join(errs[:]...)
}
