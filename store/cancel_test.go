// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// leaving is the context of a client that leaves after it was asked for some times.
type leaving struct {
	context.Context
	left int
}

func (l *leaving) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// Conditions on attributes are not tried on all spans once the client has left.
func TestAttributeConditionsEnd(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	for i := range 1000 {
		_, span := tracer.Start(t.Context(), "GET /", at(0), trace.WithAttributes(attribute.Int("http.response.status_code", i)))
		span.End(at(1))
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
	m, err := store.NewMatcher("span.http.response.status_code", store.MatchRegexp, ".*1")
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(store.View) error{
		"Spans": func(v store.View) error {
			_, err := v.Spans(store.SpanQuery{Attributes: []store.Matcher{m}})
			return err
		},
		"Select": func(v store.View) error {
			_, err := v.Select(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
			return err
		},
	} {
		ctx := &leaving{t.Context(), 10}
		v, err := s.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(v); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		v.Close()
	}
}
