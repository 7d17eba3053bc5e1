// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// The viewer shows where a span waited that took hardly any CPU.
func TestWallOfASpan(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	p, err := profiler.New(s, profiler.WithKinds(exporter.KindWall), profiler.WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	h := viewer.Handler(s)
	tracer := tp.Tracer("test")

	livetest.Doubling(t, 200*time.Millisecond, func(d time.Duration) string {
		before := p.Status().Wall
		_, span := tracer.Start(t.Context(), "wait")
		begin := time.Now()
		waitFor(d)
		took := time.Since(begin)
		span.End()
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := wallOf(t, h, span)
		// By the time between rounds more or less, which a busy machine makes
		// long.
		sum := time.Duration(got.Total)
		if rounds := p.Status().Wall.Rounds - before.Rounds; got.Samples < 10 || sum < took/2 || sum > 2*took {
			return fmt.Sprintf("got %v in %d samples, of %d rounds, want %v in 10: %+v", sum, got.Samples, rounds, took, p.Status().Wall)
		}
		if got.SampleType != "wall" || got.Unit != "nanoseconds" {
			t.Errorf("the answer is in %s %s", got.SampleType, got.Unit)
		}
		for _, function := range []string{"integration.waitFor", "runtime.chanrecv1"} {
			if !strings.Contains(string(got.Flame), function) {
				t.Errorf("%s is not in %s", function, got.Flame)
			}
		}
		return ""
	})
}

//go:noinline
func waitFor(d time.Duration) { <-time.After(d) }

// wallAnswer is what the test reads of a viewer's answer.
type wallAnswer struct {
	SampleType, Unit string
	Total, Samples   int64
	Flame            json.RawMessage
}

func wallOf(t *testing.T, h http.Handler, span trace.Span) wallAnswer {
	t.Helper()
	query := url.Values{"query": {`.wall{profile_id="` + span.SpanContext().SpanID().String() + `"}`}, "format": {"json"}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/?"+query.Encode(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a wallAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return a
}
