// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/store"
)

// newTestRecorder returns a Recorder that does not run.
func newTestRecorder(t *testing.T) *Recorder {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	return &Recorder{
		store: s, budget: newBudget(1, defaultWindow),
		config: config{share: 1, window: defaultWindow}, stop: make(chan struct{}),
	}
}

// wants fails if a counter differs. Counters that are not in want must be 0.
func (r *Recorder) wants(t *testing.T, want map[counter]uint64) {
	t.Helper()
	for c := range counters {
		if got := r.counts[c].Load(); got != want[c] {
			t.Errorf("got %d %s, want %d", got, counterTexts[c], want[c])
		}
	}
}

// timesOf returns the exact times in the store, nil if absent.
func (r *Recorder) timesOf(t *testing.T, id string) *spanTimes {
	t.Helper()
	v, err := r.store.View(t.Context(), time.Time{}, time.Time{})
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
	var x spanTimes
	if err := json.Unmarshal(list.Spans[0].ExactTimes, &x); err != nil {
		t.Fatal(err)
	}
	return &x
}

func readRecording(t *testing.T) (recording []byte, tl *timeline.Timeline) {
	t.Helper()
	recording, err := os.ReadFile("testdata/go1.26.trace")
	if err != nil {
		t.Fatal(err)
	}
	if tl, err = timeline.Read(bytes.NewReader(recording), maxKept); err != nil {
		t.Fatal(err)
	}
	return recording, tl
}

// Each span of an unreadable recording is counted.
func TestUnreadableRecordings(t *testing.T) {
	whole, tl := readRecording(t)
	broken := bytes.Clone(whole)
	copy(broken[len(broken)/2:], strings.Repeat("\xff", 100))
	for _, test := range []struct {
		name      string
		recording []byte
		want      error
	}{
		{"damaged", broken, ErrDamaged},
		{"a panic", whole, timeline.ErrPanic}, // without a store
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newTestRecorder(t)
			r.store = nil
			r.inbox.open(true)
			for range 5 {
				r.inbox.add(slowSpan{id: spanID(&tl.Spans[0])})
			}
			if err := r.read(bytes.NewBuffer(test.recording), time.Now()); !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			want := map[counter]uint64{missed: 5}
			if errors.Is(test.want, timeline.ErrPanic) {
				want[readings] = 1
			}
			r.wants(t, want)
		})
	}
}

// Spans without exact times have the reason as a hole, if the store keeps them.
func TestMissedSpans(t *testing.T) {
	whole, tl := readRecording(t)
	r := newTestRecorder(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.store.SpanProcessor()))
	started := time.Now().Add(-time.Hour)
	var ids []string
	for range 3 {
		_, span := tp.Tracer("test").Start(t.Context(), "slow", trace.WithTimestamp(started))
		span.End(trace.WithTimestamp(started.Add(time.Minute)))
		ids = append(ids, span.SpanContext().SpanID().String())
	}
	r.inbox.open(true)
	r.inbox.add(slowSpan{id: ids[0], name: "slow", started: started, ended: time.Now(), duration: time.Minute})
	r.inbox.add(slowSpan{id: ids[1], name: "slow", started: started, ended: time.Now(), duration: time.Second})
	r.inbox.add(slowSpan{id: ids[2], name: "slow", started: started, ended: time.Now().Add(time.Hour), duration: time.Second})
	r.inbox.add(slowSpan{id: spanID(&tl.Spans[0]), duration: time.Second}) // not in the store
	r.budget.begin(time.Now())
	if err := r.read(bytes.NewBuffer(whole), time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.wants(t, map[counter]uint64{missed: 4, readings: 1})
	for i, id := range ids {
		x := r.timesOf(t, id)
		if x == nil || !x.Start.Equal(started) || len(x.Holes) != 1 || x.Holes[0].Duration != x.Duration || !strings.Contains(x.Holes[0].Reason, "does not have all of it") {
			t.Errorf("span %d: got %+v, want one hole", i, x)
		}
	}
}

// A recording with its bytes is bounded. Without, its size is counted.
func TestRecordingIsBounded(t *testing.T) {
	for _, keep := range []bool{false, true} {
		b := recording{most: 1000, keep: keep}
		for range 4 {
			if _, err := b.Write(bytes.Repeat([]byte("x"), 300)); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{true: 900}[keep]; b.n != 1200 || b.Len() != want {
			t.Errorf("keep %t: got %d bytes, %d kept, want 1200 and %d", keep, b.n, b.Len(), want)
		}
	}
}

// Too long times are shortened, and the rest is counted.
func TestFit(t *testing.T) {
	stack := make([]Frame, mostFrames)
	for i := range stack {
		stack[i] = Frame{Func: strings.Repeat("f", 500), File: strings.Repeat("g", 500), Line: i}
	}
	times := spanTimes{Span: Span{Duration: time.Hour}}
	for range mostGoroutines {
		times.Goroutines = append(times.Goroutines, Goroutine{States: make([]Part, 20)})
	}
	for range mostWaits {
		times.Waits = append(times.Waits, Wait{Stack: stack, Ended: stack, Blockers: make([]Blocker, mostBlockers)})
	}
	data, err := times.fit()
	if err != nil {
		t.Fatal(err)
	}
	var got spanTimes
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(data) > store.MaxExactTimes || len(got.Waits) == 0 || !got.Omitted {
		t.Errorf("got %d bytes with %d waits, omitted %t, want at most %d", len(data), len(got.Waits), got.Omitted, store.MaxExactTimes)
	}
	if len(got.Waits)+got.WaitsOmitted != mostWaits || len(got.Goroutines)+got.GoroutinesOmitted != mostGoroutines {
		t.Errorf("%d waits and %d omitted, %d goroutines and %d omitted", len(got.Waits), got.WaitsOmitted, len(got.Goroutines), got.GoroutinesOmitted)
	}
}
