// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
)

// A span that began before the window has no recording read, and keeps none from other spans.
func TestPendingOlderSpans(t *testing.T) {
	at := time.Unix(1e9, 0)
	p := &pending{window: 5 * time.Second}
	for i := range maxPending {
		if got := p.add(slowSpan{ended: at.Add(time.Duration(i) * time.Second), duration: time.Minute}); got != countless {
			t.Errorf("span %d: outcome %d", i, got)
		}
	}
	if got := p.add(slowSpan{ended: at, duration: time.Minute}); got != tooMany {
		t.Errorf("one too many: outcome %d", got)
	}
	if _, ok := p.due(); ok {
		t.Error("a recording is to be read")
	}
	if due, ok := p.nextOlder(); !ok || !due.Equal(at.Add(gather)) {
		t.Errorf("due at %v, %t, want a second after the first", due, ok)
	}
	if got := len(p.takeOlder()); got != maxPending {
		t.Errorf("%d spans were taken, want %d", got, maxPending)
	}
	if got := p.add(slowSpan{ended: at.Add(time.Second), duration: time.Second}); got != countless {
		t.Errorf("a span within the window after that: outcome %d", got)
	}
	p.add(slowSpan{ended: at, duration: time.Minute})
	if got := p.close(); got != 1 {
		t.Errorf("%d spans waited, want 1", got)
	}
	if got := len(p.takeOlder()); got != 1 {
		t.Errorf("%d spans from before the window are left, which need no recording, want 1", got)
	}
}

// The store gets the program's times of a span that began before the window.
func TestTimesOfOlderSpans(t *testing.T) {
	r := newTestRecorder(t)
	var err error
	if r.store, err = store.New(); err != nil {
		t.Fatal(err)
	}
	r.slowness.threshold, r.pending.window = time.Second, 5*time.Second
	r.stop, r.wake = make(chan struct{}), make(chan struct{}, 1)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.store.SpanProcessor()), sdktrace.WithSpanProcessor(processor{r}))
	started := time.Now().Add(-time.Hour)
	_, span := tp.Tracer("test").Start(t.Context(), strings.Repeat("n", 2000), trace.WithTimestamp(started))
	span.End(trace.WithTimestamp(started.Add(time.Minute)))
	for _, s := range r.pending.takeOlder() {
		if got := r.keepOlder(s, olderThanWindow, "a reason"); got != olderThanWindow {
			t.Errorf("outcome %d, want %d", got, olderThanWindow)
		}
	}
	x := timesOf(t, r.store, span.SpanContext().SpanID().String())
	if x == nil {
		t.Fatal("no exact times")
	}
	if !x.Start.Equal(started) || x.Duration != time.Minute || len(x.Holes) != 1 || x.Holes[0].Duration != time.Minute {
		t.Errorf("exact times %+v, want a hole of a minute from %v on", x, started)
	}
	if len(x.Name) != 512 {
		t.Errorf("the name has %d bytes, want 512 as in a trace", len(x.Name))
	}
}

// A span that began before the recording has the reason as a hole.
func TestWhySpansAreOlder(t *testing.T) {
	r := newTestRecorder(t)
	var err error
	if r.store, err = store.New(); err != nil {
		t.Fatal(err)
	}
	r.config.window = 5 * time.Second
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.store.SpanProcessor())).Tracer("test")
	at := time.Now()
	ago := func(seconds float64) time.Time { return at.Add(-time.Duration(seconds * float64(time.Second))) }
	for _, test := range []struct {
		name             string
		ended            float64 // so many seconds before the recording's end
		duration         time.Duration
		recorded, length float64 // so far the recorder and the recording reach back
		why              counter
		reason           string
	}{
		{"before recording", 1, time.Second, 1.5, 1.5, olderThanWindow, "the span began 500ms before recording did"},
		{"before the first event", 1, 470 * time.Millisecond, 1.5, 1.45, olderThanWindow, "the span began 20ms before recording did"},
		{"longer than the window", 0.5, 5500 * time.Millisecond, 60, 5.2, olderThanWindow, "the span began before the recording, which is of 5.2s: WithWindow makes it longer"},
		{"of some milliseconds", 7, 50 * time.Millisecond, 60, 5.8, readTooLate, "read too late: 7s after the span's end its start had left the recording, which is of 5.8s"},
		{"many bytes", 3, 50 * time.Millisecond, 60, 2.1, readTooLate, "the span's start had left the recording, which is of 2.1s as there is no room for more: WithMaxBytes makes it longer"},
		{"within the recording", 3, 50 * time.Millisecond, 60, 5.8, notInTrace, ""},
	} {
		_, span := tracer.Start(t.Context(), test.name)
		span.End()
		id := span.SpanContext().SpanID().String()
		a := &Analysis{Start: ago(test.length), Duration: at.Sub(ago(test.length))}
		got := r.keepSpan(a, slowSpan{id: id, ended: ago(test.ended), duration: test.duration}, nil, taken{at: at, since: ago(test.recorded)})
		if got != test.why {
			t.Errorf("%s: outcome %q, want %q", test.name, counterTexts[got].text, counterTexts[test.why].text)
		}
		if x := timesOf(t, r.store, id); test.reason == "" && x != nil {
			t.Errorf("%s: %+v", test.name, x)
		} else if test.reason != "" && (x == nil || len(x.Holes) != 1 || x.Holes[0] != (Hole{Reason: test.reason, Duration: test.duration})) {
			t.Errorf("%s: %+v, want a hole with the reason %q", test.name, x, test.reason)
		}
	}
}

// A recording with more events than there is room for was not read to its end. Its spans have
// that as the reason, unless the part that was read has all of them.
func TestSpansOfACutRecording(t *testing.T) {
	r := newTestRecorder(t)
	var err error
	if r.store, err = store.New(); err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.store.SpanProcessor())).Tracer("test")
	at := time.Now()
	for _, test := range []struct {
		name  string
		exact *Span
		why   counter
	}{
		{"after the part", nil, unreadable},
		{"begins in it", &Span{Open: true, Duration: time.Millisecond}, unreadable},
		{"within it", &Span{Duration: time.Second}, stored},
	} {
		_, span := tracer.Start(t.Context(), test.name)
		span.End()
		id := span.SpanContext().SpanID().String()
		a := &Analysis{Start: at.Add(-4 * time.Second), Duration: time.Second, Cut: true}
		got := r.keepSpan(a, slowSpan{id: id, ended: at, duration: time.Second}, test.exact, taken{at: at})
		x := timesOf(t, r.store, id)
		if x == nil || got != test.why || x.Duration != time.Second {
			t.Errorf("%s: outcome %q, want %q; %+v", test.name, counterTexts[got].text, counterTexts[test.why].text, x)
		} else if test.why == unreadable && (len(x.Holes) != 1 || !strings.Contains(x.Holes[0].Reason, "WithMaxBytes")) {
			t.Errorf("%s: holes %+v, want one that names WithMaxBytes", test.name, x.Holes)
		}
	}
}

// timesOf returns the exact times that a store has of a span, nil if it has none.
func timesOf(t *testing.T, s *store.Store, id string) *SpanTimes {
	t.Helper()
	v, err := s.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := v.Spans(store.SpanQuery{ID: id, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Spans) == 0 || list.Spans[0].ExactTimes == nil {
		return nil
	}
	data := list.Spans[0].ExactTimes
	var x SpanTimes
	if err := json.Unmarshal(data, &x); err != nil {
		t.Fatalf("%v: %q", err, data)
	}
	return &x
}
