// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// Texts of some spans do not push those out that have none of their own.
func TestTextsLeaveRoom(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%08d", i) + strings.Repeat("x", 500) }
	fail := func(span trace.Span, i int) {
		span.SetStatus(codes.Error, long(i))
		span.End(at(1))
	}
	// Each ends or starts one span in ten, the i-th.
	for name, test := range map[string]struct {
		options []Option
		with    func(tracer trace.Tracer, i int)
	}{
		"statuses": {nil, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), "GET /", at(0))
			fail(span, i)
		}},
		"names of errors": {nil, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i), at(0))
			span.SetStatus(codes.Error, "")
			span.End(at(1))
		}},
		"names that two errors share": {nil, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i/20), at(0))
			span.SetStatus(codes.Error, "")
			span.End(at(1))
		}},
		"statuses of extremes": {nil, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i/10%50), at(float64(-i)))
			fail(span, i)
		}},
		"names of spans that are not kept": {[]Option{WithMinDuration(step)}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i), at(0))
			span.End(at(0.5))
		}},
		"names of spans that never end": {nil, func(tracer trace.Tracer, i int) { tracer.Start(t.Context(), long(i)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, append(test.options, WithMaxBytes(4<<20))...)
			l := s.spans
			tracer := newTracerProvider(s).Tracer("")
			for i := range 6 * l.maxRows {
				if i%10 != 0 {
					_, span := tracer.Start(t.Context(), "GET /", at(0))
					span.End(at(1))
					continue
				}
				test.with(tracer, i)
				if l.bytes > l.maxBytes {
					t.Fatalf("%d bytes of %d", l.bytes, l.maxBytes)
				}
				if n := l.lists[newestList].len; i > l.maxRows && n < l.maxRows/2 {
					t.Fatalf("%d spans leave room to %d of %d", i, n, l.maxRows)
				}
			}
		})
	}
}

// Where all spans have texts of their own, errors are not the ones to go.
func TestErrorsKeepTheirTexts(t *testing.T) {
	s := newStore(t, WithMaxBytes(4<<20))
	tracer := newTracerProvider(s).Tracer("")
	for i := range 20000 {
		_, span := tracer.Start(t.Context(), fmt.Sprintf("GET /%0200d", i))
		if i%100 == 0 {
			span.SetStatus(codes.Error, "out of stock")
		}
		span.End()
	}
	newest, errors := s.spans.lists[newestList].len, s.spans.lists[errorList].len
	if newest < 100 || errors < 100 {
		t.Errorf("%d newest and %d errors are left", newest, errors)
	}
}

// TestTextsOfLists holds what is known of the texts of each list against the
// records.
func TestTextsOfLists(t *testing.T) {
	s := newStore(t, WithMaxBytes(1<<20), WithMinDuration(step), WithSpansPerName(2))
	l := s.spans
	tracer := newTracerProvider(s).Tracer("")
	random := newGenerator().rand
	for n := range 50 {
		var samples []sample
		for range 100 {
			_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", random.IntN(1+random.IntN(200))), at(0))
			if random.IntN(4) == 0 {
				samples = append(samples, sample{"f", 1, labels("span_id", idOf(span), "span_name", fmt.Sprint("label ", random.IntN(100)))})
			}
			if random.IntN(10) == 0 {
				span.SetName(fmt.Sprint("route ", random.IntN(100)))
			}
			if random.IntN(10) == 0 {
				span.SetStatus(codes.Error, fmt.Sprint("error ", random.IntN(1e9)))
			}
			if random.IntN(20) > 0 {
				span.End(at(2 * random.Float64()))
			}
		}
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(samples...)))

		var want [listCount]int64
		rows := map[any]map[listID]int{}
		hold := func(text any, list listID) {
			if rows[text] == nil {
				rows[text] = map[listID]int{}
			}
			rows[text][list]++
		}
		for _, chunk := range l.chunks {
			for i := range chunk {
				r := &chunk[i]
				if r.list == freeList {
					continue
				}
				want[r.list] += allocSize(int64(len(r.status)))
				hold(r.name, r.list)
				if r.label != nil {
					hold(r.label, r.list)
				}
			}
		}
		count := func(text any, h *holders) {
			list := freeList
			for of, n := range rows[text] {
				if n == h.refs {
					list = of
				}
			}
			want[list] += h.bytes
		}
		for _, n := range l.names {
			count(n, &n.holders)
		}
		for _, text := range l.texts {
			count(text, &text.holders)
		}
		for list, bytes := range want {
			if got := l.lists[list].texts; got != bytes {
				t.Fatalf("window %d: the texts of list %d take %d bytes, want %d", n, list, got, bytes)
			}
		}
	}
	for list := range l.lists[:listCount] {
		if list > int(freeList) && l.lists[list].len == 0 {
			t.Errorf("list %d was not tested", list)
		}
	}
}
