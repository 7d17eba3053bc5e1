// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace_test

import (
	rtrace "runtime/trace"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

// What Start refuses has a reason. With WithOptIn it waits for a variable.
func TestOptions(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider()
	for _, test := range []struct {
		name   string
		tp     exectrace.TracerProvider
		store  *store.Store
		option exectrace.Option
	}{
		{"no tracer provider", nil, s, nil},
		{"no tracer provider", (*sdktrace.TracerProvider)(nil), s, nil},
		{"no store", tp, nil, nil},
		{"WithThreshold", tp, s, exectrace.WithThreshold(-1)},
		{"WithBudget", tp, s, exectrace.WithBudget(0)},
		{"WithBudget", tp, s, exectrace.WithBudget(1.1)},
		{"WithWindow", tp, s, exectrace.WithWindow(0)},
	} {
		if _, err := exectrace.Start(test.tp, test.store, test.option); err == nil || !strings.Contains(err.Error(), test.name) {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
	if rtrace.IsEnabled() {
		t.Error("a trace is on after Start failed")
	}
	r, err := exectrace.Start(tp, s, exectrace.WithOptIn()) // without the variable
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Status(); got.Recording || rtrace.IsEnabled() {
		t.Errorf("got status %+v, a trace is on: %t", got, rtrace.IsEnabled())
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
