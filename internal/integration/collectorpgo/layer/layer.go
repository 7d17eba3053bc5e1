// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package layer has what the Collectors of all layers share: the command line,
// the OTLP receiver and the pprof extension.
package layer

import (
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/pprofextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// Run runs a Collector with the layer's own components, until a signal ends it. It
// returns the program's exit code.
func Run(name string, processors []processor.Factory, exporters []exporter.Factory) int {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: name, Description: "Collector of the layer " + name, Version: "0.161.0"},
		Factories: func() (otelcol.Factories, error) { return factories(processors, exporters) },
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
			DefaultScheme:     "env",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func factories(processors []processor.Factory, exporters []exporter.Factory) (f otelcol.Factories, err error) {
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](pprofextension.NewFactory()); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap(processors...); err != nil {
		return f, err
	}
	if f.Exporters, err = otelcol.MakeFactoryMap(exporters...); err != nil {
		return f, err
	}
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, nil
}
