// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

func TestSlowness(t *testing.T) {
	if s := (&slowness{threshold: time.Second}); s.slow("a", time.Second-1) || !s.slow("a", time.Second) {
		t.Error("a threshold of 1s has no effect")
	}
	s, random := &slowness{}, rand.New(rand.NewPCG(1, 2))
	slow := map[string]int{}
	const spans = 50_000
	for i := range spans {
		// Of each name one in 50 takes longer. All of "slow" take longer than all of "quick".
		for name, unit := range map[string]time.Duration{"quick": 50 * time.Microsecond, "slow": time.Second} {
			d := unit + time.Duration(random.Int64N(int64(unit)))
			if random.IntN(50) == 0 {
				d *= 10 + time.Duration(random.Int64N(100))
			}
			if s.slow(name, d) {
				if i < leastSpans {
					t.Fatalf("span %d of %q is slow", i, name)
				}
				slow[name]++
			}
		}
	}
	for name, n := range slow {
		if n < spans/400 || n > spans/60 {
			t.Errorf("%d of %d spans %q are slow, want about one in 100", n, spans, name)
		}
	}
	if len(slow) != 2 {
		t.Errorf("got slow spans of %v, want two names", slow)
	}
	for range 1000 {
		if s.slow("always the same", time.Second) {
			t.Fatal("a span with the duration of all others is slow")
		}
	}
}

// Names beyond the limit share one p99.
func TestSlownessIsBounded(t *testing.T) {
	s := &slowness{}
	for i := range 10 * maxSlowNames {
		s.slow(fmt.Sprint("GET /", i), time.Millisecond)
	}
	if len(s.names) != maxSlowNames || !s.slow("GET /new", time.Second) {
		t.Errorf("got %d names, want %d; the others have %d spans", len(s.names), maxSlowNames, s.others.spans)
	}
}

// The inbox is bounded, and keeps the slowest spans.
func TestInbox(t *testing.T) {
	var b inbox
	if b.add(slowSpan{}) {
		t.Error("a closed inbox took a span")
	}
	b.open(true)
	for i := range 2 * maxWaiting {
		b.add(slowSpan{id: fmt.Sprint(i), duration: time.Duration(i)})
	}
	b.add(slowSpan{duration: 1})
	b.spans[7].ended = time.Unix(1e9, 1)
	spans, overflow := b.take(time.Unix(1e9, 1))
	if len(b.spans) != 1 || b.overflow != 0 {
		t.Fatalf("%d spans are left, want the later one", len(b.spans))
	}
	spans = slices.Insert(spans, 7, b.spans[0])
	b.spans = nil
	if len(spans) != maxWaiting || overflow != maxWaiting+1 {
		t.Fatalf("got %d spans and %d dropped, want %d and %d", len(spans), overflow, maxWaiting, maxWaiting+1)
	}
	for i, s := range spans {
		if want := time.Duration(maxWaiting + i); s.duration != want {
			t.Errorf("span %d takes %d, want %d", i, s.duration, want)
		}
	}
	b.add(slowSpan{duration: time.Hour})
	if _, waits := b.waits(time.Minute); waits {
		t.Error("a span waits that no recording can have")
	}
	at := time.Unix(1e9, 0)
	b.add(slowSpan{ended: at})
	if since, waits := b.waits(time.Minute); !waits || !since.Equal(at) {
		t.Errorf("waits since %v: %t, want since %v", since, waits, at)
	}
	if dropped := b.open(false); dropped != 2 {
		t.Errorf("got %d spans dropped, want 2", dropped)
	}
}

// A long name that would crash some runtimes is shortened before a trace is on too: the SDK uses
// it after the processors.
func TestLongNamesBeforeATrace(t *testing.T) {
	r := newTestRecorder(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor{r}))
	_, span := tp.Tracer("test").Start(t.Context(), strings.Repeat("n", 1<<20))
	if got := len(span.(sdktrace.ReadOnlySpan).Name()); got != goruntime.MaxTaskName {
		t.Errorf("the name has %d bytes, want %d", got, goruntime.MaxTaskName)
	}
}
