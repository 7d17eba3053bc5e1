// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

// many returns so many attributes, some of them at given places.
func many(n int, placed map[int]attribute.KeyValue) []attribute.KeyValue {
	all := make([]attribute.KeyValue, n)
	for i := range all {
		all[i] = attribute.Int("n."+strconv.Itoa(i), i)
	}
	for i, kv := range placed {
		all[i] = kv
	}
	return all
}

// Of a span with very many attributes and events the first and the last are looked at, and
// the others are counted.
func TestManyAttributes(t *testing.T) {
	const n = 1000
	for _, tt := range []struct {
		name       string
		attributes map[int]attribute.KeyValue
		events     map[int]map[int]attribute.KeyValue // attributes of exceptions
		few        bool                               // exceptions have one attribute each
		want       []store.Attribute
		unseen     int64
		complete   bool // What was not looked at is not missed.
	}{
		{
			name: "attributes",
			attributes: map[int]attribute.KeyValue{
				0: attribute.String("url.path", "/a"), 127: attribute.String("http.route", "/"),
				128: attribute.String("db.statement", "no"), n - 129: attribute.String("http.method", "no"),
				n - 128: attribute.Int("http.response.status_code", 200), n - 1: attribute.String("error.type", "timeout"),
			},
			want: []store.Attribute{
				{Key: "url.path", Value: "/a"},
				{Key: "http.route", Value: "/"},
				{Key: "http.response.status_code", Value: "200"},
				{Key: "error.type", Value: "timeout"},
			},
			unseen: n - 256,
		},
		{
			name:       "no attribute that is kept is looked at",
			attributes: map[int]attribute.KeyValue{500: attribute.String("url.path", "no")},
			unseen:     n - 256,
		},
		{
			name: "events",
			events: map[int]map[int]attribute.KeyValue{
				300:   {0: attribute.String("exception.type", "no")},
				n - 1: {0: attribute.String("exception.type", "last"), 200: attribute.String("exception.message", "no"), n - 1: attribute.String("exception.message", "refused")},
			},
			want:   []store.Attribute{{Key: "exception.type", Value: "last"}, {Key: "exception.message", Value: "refused"}},
			unseen: 2 * (n - 256),
		},
		{
			name:   "an exception among events that are not looked at",
			events: map[int]map[int]attribute.KeyValue{300: {0: attribute.String("exception.type", "no")}},
			few:    true,
			unseen: n - 256,
		},
		{
			name: "one that comes after those",
			events: map[int]map[int]attribute.KeyValue{
				300:   {0: attribute.String("exception.type", "no")},
				n - 1: {0: attribute.String("exception.type", "last")},
			},
			few:    true,
			want:   []store.Attribute{{Key: "exception.type", Value: "last"}},
			unseen: n - 256,
		},
		{
			name: "the first is looked at",
			events: map[int]map[int]attribute.KeyValue{
				127: {0: attribute.String("exception.type", "first")},
				300: {0: attribute.String("exception.type", "no")},
			},
			few:      true,
			want:     []store.Attribute{{Key: "exception.type", Value: "first"}},
			unseen:   n - 256,
			complete: true,
		},
		{
			name:       "within the SDK's limits",
			attributes: map[int]attribute.KeyValue{64: attribute.String("url.path", "/a")},
			want:       []store.Attribute{{Key: "url.path", Value: "/a"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, of := range []string{"root", "child"} {
				s := newStore(t)
				limits := sdktrace.SpanLimits{AttributeValueLengthLimit: -1, AttributeCountLimit: -1, EventCountLimit: -1, AttributePerEventCountLimit: -1}
				tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithRawSpanLimits(limits)).Tracer("")
				ctx, root := tracer.Start(t.Context(), "GET /")
				span, want := root, tt.want
				if of == "child" {
					_, span = tracer.Start(ctx, "child")
					want = nil
					for _, a := range tt.want {
						a.Child = "child"
						want = append(want, a)
					}
				}
				count := n
				if tt.unseen == 0 {
					count = 128
				}
				if tt.attributes != nil {
					span.SetAttributes(many(count, tt.attributes)...)
				}
				if tt.events != nil {
					for i := range count {
						if placed, ok := tt.events[i]; ok {
							attributes := n
							if tt.few {
								attributes = 1
							}
							span.AddEvent("exception", trace.WithAttributes(many(attributes, placed)...))
						} else {
							span.AddEvent("message")
						}
					}
				}
				if span != root {
					span.End()
				}
				root.End()
				got, _ := s.Span(idOf(root))
				if diff := cmp.Diff(want, got.Attributes); diff != "" {
					t.Errorf("%s: %s", of, diff)
				}
				if got.AttributesOmitted != (tt.unseen > 0 && !tt.complete) {
					t.Errorf("%s: attributes omitted: %v", of, got.AttributesOmitted)
				}
				if got := s.Stats().AttributesUnseen; got != tt.unseen {
					t.Errorf("%s: %d unseen, want %d", of, got, tt.unseen)
				}
			}
		})
	}
}

// The id of a profile is found among all attributes of a span, however many there are.
func TestProfileIDAmongManyAttributes(t *testing.T) {
	s := newStore(t)
	limits := sdktrace.SpanLimits{AttributeValueLengthLimit: -1, AttributeCountLimit: -1}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithRawSpanLimits(limits)).Tracer("")
	ctx, root := tracer.Start(t.Context(), "GET /")
	for _, placed := range []map[int]attribute.KeyValue{nil, {500: attribute.String("pyroscope.profile.id", "1")}} {
		_, child := tracer.Start(ctx, "child", trace.WithAttributes(many(1000, placed)...))
		child.End()
		id := child.SpanContext().SpanID().String()
		if _, ok := s.Span(id); ok != (placed != nil) {
			t.Errorf("with the attributes %v a record: %t", placed, ok)
		}
	}
	root.End()
}
