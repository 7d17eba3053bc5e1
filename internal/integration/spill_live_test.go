// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// Attributes of types that the oldest OpenTelemetry of the root module does not
// have go through a spill directory as their text.
func TestSpilledAttributesOfNewerTypes(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	dir := t.TempDir()
	first := queue(t, dir, func(*exporter.Profile) error { return &exporter.RetryError{Err: errors.New("away")} })
	res := resource.NewSchemaless(
		attribute.KeyValue{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
		attribute.KeyValue{Key: "slice", Value: attribute.SliceValue(attribute.Int64Value(1), attribute.StringValue("x"))},
		attribute.KeyValue{Key: "map", Value: attribute.MapValue(attribute.Int64("k", 1))},
	)
	if err := first.Export(t.Context(), exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Resource: res}, []byte("pprof"))); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Shutdown(ended); err == nil {
		t.Error("Shutdown has sent the profile")
	}

	got := make(chan *exporter.Profile, 1)
	second := queue(t, dir, func(p *exporter.Profile) error { got <- p; return nil })
	p := <-got
	if err := second.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range res.Attributes() {
		if v, _ := p.Resource().Set().Value(want.Key); v.AsString() != want.Value.String() {
			t.Errorf("%s = %v, want the text %q", want.Key, v, want.Value.String())
		}
	}
}

// queue returns a Queue with a spill directory whose attempts are made by send.
func queue(t *testing.T, dir string, send func(*exporter.Profile) error) *exporter.Queue {
	t.Helper()
	q, err := exporter.NewQueue("test", sender(send), exporter.WithSpill(dir))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

type sender func(*exporter.Profile) error

func (s sender) Send(_ context.Context, p *exporter.Profile) error { return s(p) }
func (sender) Shutdown(context.Context) error                      { return nil }
