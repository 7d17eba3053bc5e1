// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// The bytes of a parsed profile are made again when nobody has them any more, by
// whoever asks then. This finds something with -race alone.
func TestProfileIsEncodedAgainElsewhere(t *testing.T) {
	p := exporter.NewParsedProfile(exporter.Window{}, &profile.Profile{SampleType: []*profile.ValueType{{Type: "n", Unit: "count"}}})
	before := runtime.NumGoroutine()
	go func() { _, _ = p.Pprof() }()
	for runtime.NumGoroutine() > before { // nothing that the race detector takes for an order
		runtime.Gosched()
	}
	runtime.GC()
	runtime.GC()
	if _, err := p.Pprof(); err != nil {
		t.Error(err)
	}
}

// What waits in a file takes no memory to speak of, though it was read for an attempt.
func TestSpillForgetsWhatItRead(t *testing.T) {
	const profiles, size = 100, 100_000
	reports(t)
	w := exporter.Window{Resource: resource.NewSchemaless(attribute.String("process.command_line", strings.Repeat("x", size)))}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, string) error {
			return &exporter.RetryError{Err: errors.New("429"), Refused: true, After: time.Second}
		}
		q := newQueue(t, &destination{send: refuse}, exporter.WithSpill(dir))
		for range profiles {
			if err := q.Export(t.Context(), exporter.NewProfile(w, nil)); err != nil {
				t.Fatal(err)
			}
		}
		before := heap()
		<-time.After(2 * profiles * time.Second) // each is tried
		synctest.Wait()
		if grown := heap() - before; grown > profiles*size/4 {
			t.Errorf("%d profiles of %d bytes in files pin %d bytes", profiles, size, grown)
		}
		if got := q.Stats(); got.Retries < profiles/2 || got.Waiting != profiles {
			t.Errorf("Stats %+v, want attempts at all", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = q.Shutdown(ctx)
	})
}
