// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

func newIntake(fraction float64, all bool) (*Intake, trace.Tracer) {
	i := NewIntake(NewRoom(64<<20, attributes.NewKeys(nil)), fraction, func(bool) bool { return all })
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(i), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "checkout"))))
	return i, tp.Tracer("")
}

// Roots and spans with a profile id are listed, others are children, or all are listed.
func TestIntake(t *testing.T) {
	for _, all := range []bool{false, true} {
		i, tracer := newIntake(1, all)
		var roots, labelled int
		i.Roots = func(_ sdktrace.ReadOnlySpan, is bool) {
			roots++
			if is {
				labelled++
			}
		}
		start := time.Unix(100, 0)
		ctx, root := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(start), trace.WithAttributes(attribute.String("http.route", "/"), attribute.String("pyroscope.profile.id", "x")))
		_, own := tracer.Start(ctx, "render", trace.WithAttributes(attribute.String("pyroscope.profile.id", "x")))
		_, child := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("db.query.text", "SELECT 'secret'")))
		own.End()
		child.End()
		root.SetStatus(codes.Error, "password=hunter2")
		root.End(trace.WithTimestamp(start.Add(time.Second)))
		long := strings.Repeat("x", ident.MaxTextLen-1) + "é" + strings.Repeat("x", 1<<20)
		if e := i.read(tracetest.SpanStub{Name: long, Status: sdktrace.Status{Code: codes.Error, Description: long}}.Snapshot()); len(e.Name) != ident.MaxTextLen-1 || len(e.Status) != ident.MaxTextLen-1 {
			t.Errorf("%d bytes of a name, %d of a status", len(e.Name), len(e.Status))
		}
		i.Drain()
		v, spans := i.room.View(), &i.room.open.spans
		byName := make(map[string]Ended)
		for k := range spans.list {
			e := spans.ended(&spans.list[k])
			byName[e.Name] = e
		}
		if len(byName) != 3 || roots != 2 || labelled != 1 {
			t.Fatal(byName, roots, labelled)
		}
		got := byName["GET /"]
		if got.Start != start.UnixNano() || got.Duration != second || !got.Err || got.Status != "password=REDACTED" || !got.LocalRoot || got.Service != "checkout" ||
			got.Trace != root.SpanContext().TraceID() || v.Attributes(got.Attributes)[0].Value != "/" {
			t.Errorf("%+v", got)
		}
		query := byName["query"]
		if byName["render"].Child || query.Child == all || query.Parent != got.ID || v.Attributes(query.Attributes)[0].Value != "SELECT ?" {
			t.Errorf("%+v %+v", byName["render"], query)
		}
	}
}

// OnEnd never waits for a reader. One goroutine may fill all shards. The newest spans are
// dropped and counted if the worker cannot keep up.
func TestIntakeNeverWaits(t *testing.T) {
	i, tracer := newIntake(1, false)
	const n = (shards + 4) * shardLen
	i.room.mu.Lock()
	for range n {
		_, s := tracer.Start(t.Context(), "GET")
		s.End()
	}
	if d := i.Dropped(); d == 0 || d > 4*shardLen {
		t.Errorf("%d spans were dropped, want at most %d", d, 4*shardLen)
	}
	i.room.mu.Unlock()
	i.Drain()
	if got := i.room.View().SpansEnded + i.Dropped(); got != n {
		t.Errorf("%d spans, want %d", got, n)
	}
}

// A span that finds no place wakes the worker too: it may have ended beside the last one.
func TestIntakeWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, tracer := newIntake(1, false)
		i.working.Store(true)
		for n := range 2 * shards * shardLen {
			i.working.Store(n < 2*shards*shardLen-1)
			_, s := tracer.Start(t.Context(), "GET")
			s.End()
		}
		synctest.Wait()
		if n := i.room.Stats().SpansEnded; n == 0 {
			t.Errorf("%d spans, %d dropped", n, i.Dropped())
		}
	})
}

// Spans of other traces than the fraction are not listed, and count by name.
func TestIntakeSampling(t *testing.T) {
	for fraction, want := range map[float64][2]int64{0: {0, 0}, 1e-17: {0, 0}, 0.25: {180, 320}, 1: {1000, 1000}} {
		i, tracer := newIntake(fraction, false)
		for range 1000 {
			_, s := tracer.Start(t.Context(), "GET")
			s.End()
		}
		if err := i.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		v := i.room.View()
		list, _ := v.List(t.Context(), &SpanQuery{})
		names, _ := v.Names(t.Context())
		if n := int64(len(list)); n < want[0] || n > want[1] || n+v.SpansUnlisted != 1000 || names[0].Spans != 1000 {
			t.Errorf("fraction %v: %d listed, %+v", fraction, n, v.Counts)
		}
	}
}
