// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package store_test

import (
	"math"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

// Which keys there are takes no memory for each span: each list of a page asks.
func TestAttributeKeysAllocate(t *testing.T) {
	const spans = 20_000
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	for i := range spans {
		_, span := tracer.Start(t.Context(), "GET /", at(0), trace.WithAttributes(attribute.Int("http.response.status_code", 200+i%5)))
		span.End(at(1))
	}
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	// All that the process allocates counts, such as what other goroutines do meanwhile.
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		keys, err := v.(store.Attributed).AttributeKeys()
		runtime.ReadMemStats(&after)
		if err != nil || len(keys) != 1 || keys[0].Spans != spans {
			t.Fatalf("%+v, %v", keys, err)
		}
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 20*spans {
		t.Errorf("%d bytes allocated for %d spans", least, spans)
	}
}
