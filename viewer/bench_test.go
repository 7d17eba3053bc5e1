// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// BenchmarkSpanList is the request that the page makes every two seconds, on a
// store of the default size that is full of spans, one in ten with samples.
func BenchmarkSpanList(b *testing.B) {
	s, err := store.New()
	if err != nil {
		b.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	p, profile := s.SpanProcessor(), newProfileBuilder()
	for i := range 160_000 {
		id := trace.SpanID{0: 1}
		binary.BigEndian.PutUint32(id[4:], uint32(i))
		name := fmt.Sprintf("GET /resource/%d", i%40)
		start := epoch.Add(time.Duration(i) * time.Millisecond)
		p.OnEnd(tracetest.SpanStub{
			Name:        name,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id}),
			StartTime:   start,
			EndTime:     start.Add(time.Duration(i%1000) * time.Millisecond),
			Resource:    res,
		}.Snapshot())
		if i%10 == 0 {
			profile.add(1, labels(id.String(), name), "main.search", "main.serve")
		}
	}
	export(b, s, res, exporter.KindCPU, profile.profile)
	h := Handler(s)
	for _, order := range []string{"newest", "slowest", "cpu"} {
		b.Run(order, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := get(b, h, "/?format=json&limit=500&order="+order); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			b.ReportMetric(float64(s.Stats().Spans), "spans")
		})
	}
}
