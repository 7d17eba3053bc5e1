// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
)

// records keeps what a logger provider is given.
type records struct{ all []sdklog.Record }

func (r *records) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.all = append(r.all, record.Clone())
	return nil
}
func (*records) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*records) Shutdown(context.Context) error                         { return nil }
func (*records) ForceFlush(context.Context) error                       { return nil }

// TestOtelslog checks records through OpenTelemetry's bridge: the span's ids are fields, the
// profile's is an attribute.
func TestOtelslog(t *testing.T) {
	kept := &records{}
	bridge := otelslog.NewHandler("shop", otelslog.WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(kept))))
	logger := slog.New(spanprof.NewLogHandler(bridge, spanprof.WithoutLogSpanIDs(), spanprof.WithLogLinks()))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithProfileURLBuilder(func(id string) string { return "https://profiles.example/" + id }))

	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	ctx, child := tp.Tracer("test").Start(ctx, "child")
	logger.WithGroup("cart").InfoContext(ctx, "paid", "items", 3)
	child.End()
	root.End()

	if len(kept.all) != 1 {
		t.Fatalf("%d records", len(kept.all))
	}
	record := kept.all[0]
	if record.TraceID() != child.SpanContext().TraceID() || record.SpanID() != child.SpanContext().SpanID() {
		t.Errorf("the record has trace %s, span %s", record.TraceID(), record.SpanID())
	}
	got := map[string]string{}
	record.WalkAttributes(func(a attribute.KeyValue) bool {
		got[string(a.Key)] = a.Value.AsString()
		return true
	})
	id := root.SpanContext().SpanID().String()
	if got["profile_id"] != id || got["profile_url"] != "https://profiles.example/"+id {
		t.Errorf("attributes %v", got)
	}
	for _, key := range []string{"trace_id", "span_id"} {
		if _, ok := got[key]; ok {
			t.Errorf("%s stands there twice: %v", key, got)
		}
	}
}
