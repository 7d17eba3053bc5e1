// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Spans with long texts do not evict the spans without texts of their own.
func TestTextsLeaveRoom(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%08d", i) + strings.Repeat("x", 500) }
	fail := func(span trace.Span, i int) {
		span.SetStatus(codes.Error, long(i))
		span.End(at(1))
	}
	// Each ends or starts one span in ten, the i-th.
	for name, test := range map[string]struct {
		config Config
		with   func(tracer trace.Tracer, i int)
	}{
		"statuses": {Config{}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), "GET /", at(0))
			fail(span, i)
		}},
		"names of errors": {Config{}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i), at(0))
			span.SetStatus(codes.Error, "")
			span.End(at(1))
		}},
		"names that two errors share": {Config{}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i/20), at(0))
			span.SetStatus(codes.Error, "")
			span.End(at(1))
		}},
		"statuses of extremes": {Config{}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i/10%50), at(float64(-i)))
			fail(span, i)
		}},
		"names of spans that are not kept": {Config{MinDuration: step}, func(tracer trace.Tracer, i int) {
			_, span := tracer.Start(t.Context(), long(i), at(0))
			span.End(at(0.5))
		}},
		"names of spans that never end": {Config{}, func(tracer trace.Tracer, i int) { tracer.Start(t.Context(), long(i)) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(Config{MaxBytes: 1 << 20, MinDuration: test.config.MinDuration, Fraction: 1, PerName: 20})
			tracer := newTracer(l)
			for i := range 6 * l.maxRows {
				if i%10 != 0 {
					_, span := tracer.Start(t.Context(), "GET /", at(0))
					span.End(at(1))
					continue
				}
				test.with(tracer, i)
				l.Settle()
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
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 20})
	tracer := newTracer(l)
	for i := range 20000 {
		_, span := tracer.Start(t.Context(), fmt.Sprintf("GET /%0200d", i))
		if i%100 == 0 {
			span.SetStatus(codes.Error, "out of stock")
		}
		span.End()
	}
	l.Settle()
	newest, errors := l.lists[newestList].len, l.lists[errorList].len
	if newest < 100 || errors < 100 {
		t.Errorf("%d newest and %d errors are left", newest, errors)
	}
}

// TestTextsOfLists holds what is known of the texts of each list against the
// records.
func TestTextsOfLists(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 18, MinDuration: step, Fraction: 1, PerName: 2, Keys: attributes.NewKeys(nil)})
	tracer := newTracer(l)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 50 {
		var groups []Group
		for range 100 {
			_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", random.IntN(1+random.IntN(200))), at(0))
			if random.IntN(4) == 0 {
				groups = append(groups, Group{Span: keyOf(span), Label: fmt.Sprint("label ", random.IntN(100)), Samples: Samples{CPU: 1, CPUCount: 1, Held: 1}})
			}
			if random.IntN(2) == 0 {
				span.SetAttributes(attribute.String("url.path", fmt.Sprint("/", random.IntN(1+random.IntN(1000)))))
			}
			for range random.IntN(3) {
				// Children without a record, before and after their parent ends.
				l.End(childOf(span, fmt.Sprint("SELECT q", random.IntN(10))))
			}
			if random.IntN(10) == 0 {
				span.SetName(fmt.Sprint("route ", random.IntN(100)))
			}
			if random.IntN(10) == 0 {
				span.SetStatus(codes.Error, fmt.Sprint("error ", random.IntN(1e9)))
			}
			if random.IntN(20) > 0 {
				span.End(at(2 * random.Float64()))
				if random.IntN(5) == 0 {
					l.End(childOf(span, "late"))
				}
				if random.IntN(10) == 0 {
					l.SetExact(keyOf(span), make([]byte, random.IntN(2000)))
				}
			}
		}
		l.ProfiledUntil(epoch.Add(time.Duration(n+1) * step).UnixNano())
		l.Join("checkout", slices.Values(groups))
		l.TakeCounts()

		var want [listCount]int64
		exact := int64(0)
		rows := map[any]map[listID]int{}
		hold := func(text any, list listID) {
			if rows[text] == nil {
				rows[text] = map[listID]int{}
			}
			rows[text][list]++
		}
		for _, chunk := range l.chunks {
			for i := range chunk {
				if chunk[i].list == freeList {
					continue
				}
				r := l.record(&chunk[i])
				want[r.list] += memory.Alloc(int64(len(r.Status)))
				if r.Exact != nil {
					want[r.list] += r.Exact.cost
					exact += r.Exact.cost
				}
				hold(r.Name, r.list)
				if r.Label != nil {
					hold(r.Label, r.list)
				}
				switch text := r.Attributes; {
				case text == nil:
				case text.alone:
					want[r.list] += text.bytes
				default:
					hold(text, r.list)
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
		for _, first := range l.names {
			for n := first; n != nil; n = n.next {
				count(n, &n.holders)
			}
		}
		for _, text := range l.texts {
			count(text, &text.holders)
		}
		if l.exacts.bytes != exact || exact == 0 {
			t.Fatalf("window %d: exact times take %d bytes, want %d, and some", n, l.exacts.bytes, exact)
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

// A record holds its name once, and so does nothing else once the counts are taken.
func TestNamesAreHeldByRecords(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 19, Fraction: 1, PerName: 5})
	tracer := newTracer(l)
	for i := range 20000 {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i), at(0))
		span.End(at(1 + float64(i%1000)))
	}
	l.Settle()
	if pinned := l.lists[pinnedList].len; pinned == 0 || pinned > l.maxRows/4 {
		t.Errorf("%d of %d rows are pinned", pinned, l.maxRows)
	}
	if l.maxRows/4 != 480 {
		t.Logf("rows: %d", l.maxRows)
	}
	if held := l.Totals().Held; held < l.maxRows/4 {
		t.Errorf("%d spans are held, of %d rows", held, l.maxRows)
	}
	l.TakeCounts()
	if n := len(l.counted); n != 0 {
		t.Errorf("%d names are counted still", n)
	}
	refs, names := 0, 0
	for _, first := range l.names {
		for n := first; n != nil; n = n.next {
			refs += n.refs
			names++
		}
	}
	if rows := l.Totals().Held; refs != rows || names > rows {
		t.Errorf("%d names with %d references, %d rows", names, refs, rows)
	}
}

// Spans that are not kept leave the room to those that are.
func TestPassedLeaveRoom(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 18, MinDuration: step, Fraction: 1})
	tracer := newTracer(l)
	_, kept := tracer.Start(t.Context(), "slow", at(0))
	kept.End(at(1))
	for i := range 2 * l.maxRows {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i%3), at(0))
		span.End(at(0.1))
	}
	if totals := l.Totals(); totals.Held != 1 || totals.Evicted != 0 || l.lists[passedList].len > l.maxPassed {
		t.Errorf("%+v, %d rows that are not kept", totals, l.lists[passedList].len)
	}
	// Spans that never end are forgotten.
	for range 10 * l.maxRunning {
		tracer.Start(t.Context(), "leak")
	}
	if running := l.Totals().Running; running != l.maxRunning {
		t.Errorf("%d spans run, want %d", running, l.maxRunning)
	}
}
