// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profilesprocessor is a processor for OpenTelemetry's Collector. It corrects the
// spans in a stock eBPF agent's profiles before they are stored.
//
// The agent (opentelemetry-ebpf-profiler) does not separate samples by goroutine labels:
// all timestamps of a stack within a report have the labels of the first of them. The
// processor splits each sample with the labels of a span in two. The first timestamp keeps
// the labels, and gets a Link to the span. The others lose the labels of goroutines, and
// are counted by the metric spanprof.processor.sample as ambiguous.
//
// An agent that has sent two samples that differ in their labels alone does separate them.
// From then on all its samples keep their labels, and get Links. An agent is identified by
// the address of its connection and its scope.
//
// In the Collector's configuration, where profiles need
// --feature-gates=service.profilesSupport:
//
//	processors:
//	  spanprof: {}
//	service:
//	  pipelines:
//	    profiles:
//	      receivers: [otlp]
//	      processors: [spanprof]
//	      exporters: [otlphttp]
package profilesprocessor

import (
	"context"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/internal/attribution"
)

// NewFactory returns the factory of the processor. Its type is spanprof. It has no settings.
func NewFactory() xprocessor.Factory {
	return xprocessor.NewFactory(component.MustNewType("spanprof"),
		func() component.Config { return &struct{}{} },
		xprocessor.WithProfiles(newProcessor, component.StabilityLevelDevelopment))
}

// profiles is the processor. It is safe for concurrent use.
type profiles struct {
	component.StartFunc
	component.ShutdownFunc
	next    xconsumer.Profiles
	agents  attribution.Agents
	samples metric.Int64Counter
}

func newProcessor(_ context.Context, set processor.Settings, _ component.Config, next xconsumer.Profiles) (xprocessor.Profiles, error) {
	samples, err := set.MeterProvider.Meter("github.com/spanprof/spanprof/ebpfbridge/profilesprocessor").Int64Counter("spanprof.processor.sample",
		metric.WithUnit("{sample}"), metric.WithDescription("Samples of records with the labels of a span, by how certain the span is."))
	if err != nil {
		return nil, err
	}
	return &profiles{next: next, samples: samples}, nil
}

// Capabilities reports that profiles are changed.
func (*profiles) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles splits the samples of one message, and passes it on.
func (p *profiles) ConsumeProfiles(ctx context.Context, td pprofile.Profiles) error {
	connection := ""
	if addr := client.FromContext(ctx).Addr; addr != nil {
		connection = addr.String()
	}
	counts, err := split(&p.agents, connection, td)
	if err != nil {
		return err
	}
	for by, n := range counts {
		p.samples.Add(ctx, n, metric.WithAttributes(attribute.String("attribution", by)))
	}
	return p.next.ConsumeProfiles(ctx, td)
}
