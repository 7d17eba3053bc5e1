// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformtest"
	"github.com/spanprof/spanprof/internal/marker"
)

// carries checks the labels of the calling goroutine.
func carries(t *testing.T, when string, want map[string]string) {
	t.Helper()
	if got := conformtest.GoroutineLabels(); !maps.Equal(got, want) {
		t.Errorf("%s: labels %v, want %v", when, got, want)
	}
}

// spanLabels is what the labels of a span should be, and others beside them.
func spanLabels(span trace.Span, name string, others ...string) map[string]string {
	sc := span.SpanContext()
	want := map[string]string{
		"profile_id": sc.SpanID().String(), "span_id": sc.SpanID().String(),
		"span_name": name, "trace_id": sc.TraceID().String(),
	}
	for i := 0; i < len(others); i += 2 {
		want[others[i]] = others[i+1]
	}
	return want
}

// onWorker runs f on a goroutine that carries a label of its own.
func onWorker(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
		f()
	}()
	<-done
}

func TestDo(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	var ctx context.Context
	var root trace.Span
	pprof.Do(t.Context(), pprof.Labels("tenant", "a"), func(tenant context.Context) {
		ctx, root = tracer.Start(tenant, "root")
		root.End()
	})
	during, after := spanLabels(root, "root", "tenant", "a", "worker", "3"), map[string]string{"worker": "3"}
	if !spanprof.ReadsGoroutineLabels() {
		delete(during, "worker")
		delete(after, "worker")
	}
	onWorker(func() {
		defer func() {
			if r := recover(); r != "oops" {
				t.Errorf("recovered %v", r)
			}
			carries(t, "after Do", after)
		}()
		spanprof.Do(ctx, func(inner context.Context) {
			carries(t, "in Do", during)
			if inner != ctx {
				t.Error("f got another context")
			}
			panic("oops")
		})
	})
}

// A Do with a context without a span leaves the goroutine its span, in f and after it.
func TestDoWithoutSpan(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	_, root := tracer.Start(context.Background(), "root")
	spanprof.Do(context.Background(), func(context.Context) { carries(t, "in Do", spanLabels(root, "root")) })
	carries(t, "after Do", spanLabels(root, "root"))
	root.End()
}

func TestGo(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	defer root.End()
	_, other := tracer.Start(context.Background(), "other")
	defer other.End()
	for want, ctx := range map[string]context.Context{"root": ctx, "": context.Background()} {
		done := make(chan struct{})
		spanprof.Go(ctx, func(context.Context) {
			defer close(done)
			if want == "" {
				carries(t, "without labels", map[string]string{})
			} else {
				carries(t, "in Go", spanLabels(root, "root"))
			}
		})
		<-done
	}
}

// A handler has the caller's writer and panics to it. It runs under a marker if the request has
// a span.
func TestHandler(t *testing.T) {
	marked := func() bool {
		pcs := make([]uintptr, 20)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
		for {
			f, more := frames.Next()
			if _, _, low := marker.Digit(f.Function); low || !more {
				return low
			}
		}
	}
	writer, got := httptest.NewRecorder(), false
	h := spanprof.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w != writer {
			t.Errorf("the writer is %T, want the caller's", w)
		}
		got = marked()
		panic(http.ErrAbortHandler)
	}))
	ctx, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("").Start(t.Context(), "GET /")
	defer span.End()
	for ctx, want := range map[context.Context]bool{t.Context(): false, ctx: true} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("got panic %v, want the handler's", err)
				}
			}()
			h.ServeHTTP(writer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		}()
		if got != want {
			t.Errorf("under a marker: %t, want %t", got, want)
		}
	}
	spanprof.Do(ctx, func(context.Context) { got = marked() })
	if !got {
		t.Error("Do has no marker")
	}
}
