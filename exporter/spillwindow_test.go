// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

func TestSpillKeepsTheWindow(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	want := exporter.Window{
		Kind:     exporter.KindHeap,
		Start:    time.Date(1999, 12, 31, 23, 59, 40, 0, time.UTC), // 20 s before the bubble
		Duration: 10 * time.Second,
		Resource: resource.NewWithAttributes("https://example.com/schema",
			attribute.String("service.name", "shop <1>"),
			attribute.Bool("bool", true),
			attribute.Int64("int", 1<<62+1),
			attribute.Float64("float", 3),
			attribute.BoolSlice("bools", []bool{true, false}),
			attribute.Int64Slice("ints", []int64{1, 2}),
			attribute.Float64Slice("floats", []float64{1, 2.5}),
			attribute.StringSlice("process.command_args", []string{"a", "b"}),
			attribute.KeyValue{Key: "empty"},
		),
	}
	synctest.Test(t, func(t *testing.T) {
		first := newQueue(t, &destination{send: down}, exporter.WithSpill(dir))
		if err := first.Export(t.Context(), exporter.NewProfile(want, []byte("pprof\nbytes"))); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := first.Shutdown(ctx); err == nil {
			t.Error("Shutdown has sent it")
		}
		synctest.Wait()

		got := make(chan *exporter.Profile, 1)
		second := newQueue(t, receiver(got), exporter.WithSpill(dir))
		p := <-got
		shutdown(t, second)
		if p.Kind() != want.Kind || !p.Start().Equal(want.Start) || p.Duration() != want.Duration {
			t.Errorf("got %v %v %v, want %+v", p.Kind(), p.Start(), p.Duration(), want)
		}
		if !p.Resource().Equal(want.Resource) || p.Resource().SchemaURL() != want.Resource.SchemaURL() {
			t.Errorf("resource %v, want %v", p.Resource(), want.Resource)
		}
		if b, err := p.Pprof(); err != nil || string(b) != "pprof\nbytes" {
			t.Errorf("Pprof() = %q, %v", b, err)
		}
	})
}

// receiver is a Destination that hands the profiles out.
type receiver chan *exporter.Profile

func (r receiver) Send(_ context.Context, p *exporter.Profile) error { r <- p; return nil }

func (r receiver) Shutdown(context.Context) error { return nil }

// A profile with a resource that JSON has no form for is exported from memory.
func TestSpillOfNaN(t *testing.T) {
	reported := reports(t)
	d := new(destination)
	q := newQueue(t, d, exporter.WithSpill(t.TempDir()))
	w := exporter.Window{Kind: exporter.KindCPU, Resource: resource.NewSchemaless(attribute.Float64("x", math.NaN()))}
	if err := q.Export(t.Context(), exporter.NewProfile(w, []byte("a"))); err != nil {
		t.Fatal(err)
	}
	shutdown(t, q)
	wantTaken(t, d, "a")
	wantStats(t, q, exporter.LaneStatus{Exported: 1, NotSpilled: 1})
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "NaN") {
		t.Errorf("reported %q", got)
	}
}
