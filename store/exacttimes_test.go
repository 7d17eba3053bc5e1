// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

// exactTimes returns the exact times of a span, and whether the span has the mark of them.
func exactTimes(t *testing.T, v store.View, id string) (times string, has bool) {
	t.Helper()
	list, err := v.Spans(store.SpanQuery{ID: id, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range list.Spans {
		return string(span.ExactTimes), span.HasExactTimes
	}
	return "", false
}

func TestExactTimes(t *testing.T) {
	s := newStore(t)
	_, span := newTracerProvider(s).Tracer("test").Start(t.Context(), "GET /", at(0))
	span.End(at(0.1))
	id := idOf(span)
	generation := s.Info().Generation
	for _, times := range []string{`{"durationNs":1}`, `{"durationNs":2}`} {
		if err := s.AddExactTimes(id, json.RawMessage(times)); err != nil {
			t.Fatal(err)
		}
		if got, has := exactTimes(t, openView(t, s), id); got != times || !has {
			t.Errorf("exact times %q, %t, want %q", got, has, times)
		}
	}
	if s.Info().Generation == generation {
		t.Error("the generation is the same after exact times came")
	}
	for _, other := range []string{"", "x", "0123456789abcdef"} {
		if err := s.AddExactTimes(other, json.RawMessage("{}")); !errors.Is(err, store.ErrNoRecord) {
			t.Errorf("span %q: error %v, want ErrNoRecord", other, err)
		}
	}
	for _, times := range []string{"", "{", `"` + strings.Repeat("x", store.MaxExactTimes) + `"`} {
		if err := s.AddExactTimes(id, json.RawMessage(times)); err == nil || errors.Is(err, store.ErrNoRecord) {
			t.Errorf("%d bytes: error %v, want one about them", len(times), err)
		}
	}
}

// Exact times take a part of the room of spans, leave with their record.
func TestExactTimesLeaveRoom(t *testing.T) {
	const maxBytes = 8 << 20
	s := newStore(t, store.WithMaxBytes(maxBytes))
	tracer := newTracerProvider(s).Tracer("test")
	random := rand.New(rand.NewChaCha8([32]byte{}))
	var spans []trace.Span
	for i := range 200 {
		_, span := tracer.Start(t.Context(), "GET /", at(float64(i)))
		end := float64(i) + 0.1
		span.End(at(end))
		spans = append(spans, span)
		noise := make([]byte, 4<<10)
		for i := range noise {
			noise[i] = byte(random.IntN(256))
		}
		if err := s.AddExactTimes(idOf(span), json.RawMessage(fmt.Sprintf(`"%x"`, noise))); err != nil {
			t.Fatal(i, err)
		}
		if got := s.Stats().Bytes; got > maxBytes {
			t.Fatalf("%d bytes, want at most %d", got, maxBytes)
		}
	}
	v, held, newest := openView(t, s), 0, false
	for _, span := range spans {
		if _, newest = exactTimes(t, v, idOf(span)); newest {
			held++
		}
	}
	if held < 5 || held > maxBytes/32/(4<<10) || !newest {
		t.Errorf("%d spans have exact times, the newest %t, want some, of 4 kB each in %d bytes", held, newest, maxBytes/32)
	}
	before := s.Stats()
	for i := range 100_000 {
		_, span := tracer.Start(t.Context(), "GET /", at(float64(200+i)))
		span.End(at(float64(200+i) + 0.1))
	}
	v = openView(t, s)
	for _, span := range spans[10:] { // the slowest of the first stay
		if _, has := exactTimes(t, v, idOf(span)); has {
			t.Fatal("a span has exact times after it made room")
		}
	}
	if after := s.Stats(); after.SpansEvicted == before.SpansEvicted || after.Bytes > maxBytes {
		t.Errorf("%d bytes, want at most %d; %d spans made room", after.Bytes, maxBytes, after.SpansEvicted)
	}
}
