// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"runtime"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/store"
)

// A provider is compared with the global one, directly and through wrappers.
func TestFactsOfProvider(t *testing.T) {
	sdk, other := sdktrace.NewTracerProvider(), sdktrace.NewTracerProvider()
	wrapper, another, noOp := spanprof.NewTracerProvider(sdk), spanprof.NewTracerProvider(other), spanprof.NewTracerProvider(noop.NewTracerProvider())
	for name, test := range map[string]struct {
		given              TracerProvider
		global             trace.TracerProvider
		inner, apart, noOp bool
	}{
		"as documented":                        {given: wrapper, global: wrapper},
		"the SDK's is given":                   {given: sdk, global: wrapper},
		"the SDK's is global":                  {given: wrapper, global: sdk, inner: true},
		"the SDK's is both, and has a wrapper": {given: sdk, global: sdk, inner: true},
		"another one of the SDK is global":     {given: wrapper, global: other, apart: true},
		"another wrapper is global":            {given: wrapper, global: another, apart: true},
		"none is global":                       {given: wrapper, global: otel.GetTracerProvider(), apart: true},
		"a no-op":                              {given: noOp, global: noOp, noOp: true},
	} {
		var f selfcheck.Facts
		if provider(&f, test.given, test.global); f.Inner != test.inner || f.Apart != test.apart || f.NoOp != test.noOp {
			t.Errorf("%s: inner %t, apart %t, no-op %t; want %t, %t, %t", name, f.Inner, f.Apart, f.NoOp, test.inner, test.apart, test.noOp)
		}
	}
	runtime.KeepAlive([]any{wrapper, another, noOp})
}

// The counters of package spanlabels are facts, each under its name.
func TestFactsOfCounts(t *testing.T) {
	var before, after selfcheck.Facts
	labels(&before)
	counts := &spanlabels.Counts
	defer counts.NamesFull.Store(counts.NamesFull.Swap(256))
	counts.EndedElsewhere.Add(1)
	counts.Wiped.Add(2)
	counts.NoRoom.Add(3)
	labels(&after)
	if elsewhere, wiped, noRoom := after.EndedElsewhere-before.EndedElsewhere, after.Wiped-before.Wiped, after.NoRoom-before.NoRoom; after.NamesFull != 256 || elsewhere != 1 || wiped != 2 || noRoom != 3 {
		t.Errorf("got limit %d, %d elsewhere, %d wiped, %d without room; want 256, 1, 2, 3", after.NamesFull, elsewhere, wiped, noRoom)
	}
}

// Spans are lost after a shutdown, until the store records one again.
func TestLostSpans(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{SpanProcessor: s.SpanProcessor(), store: s}
	for _, step := range []struct {
		what          string
		shut          bool
		ended         int64
		sampled, want uint64
	}{
		{"running", false, 0, 10, 0},
		{"the shutdown", true, 0, 0, 0},
		{"lost", false, 0, 30, 30},
		{"lost again", false, 0, 40, 40},
		{"one was recorded", false, 1, 50, 0},
		{"lost after that", false, 1, 60, 10},
		{"a provider was collected", false, 1, 5, 0},
		{"lost after that", false, 1, 6, 1},
	} {
		if step.shut {
			if err := r.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.lost(step.ended, step.sampled); got != step.want {
			t.Errorf("%s: %d lost, want %d", step.what, got, step.want)
		}
	}
}
