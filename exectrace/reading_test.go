// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/store"
)

func newTestRecorder(t *testing.T) *Recorder {
	t.Helper()
	accounts, err := newAccounts(noop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	return &Recorder{accounts: accounts, config: recorderConfig{maxBytes: usualBytes}, budget: newBudget(1, time.Second)}
}

// Each span of a recording that cannot be read is counted, and why.
func TestUnreadableRecordings(t *testing.T) {
	whole, tl := readRecording(t)
	var spans []slowSpan
	for i := range tl.Spans {
		if s := &tl.Spans[i]; s.Marked && len(spans) < 5 {
			spans = append(spans, slowSpan{id: spanID(s), ended: time.Now()})
		}
	}
	broken := bytes.Clone(whole)
	copy(broken[len(broken)/2:], strings.Repeat("\xff", 100))
	for _, test := range []struct {
		name      string
		recording []byte
		why       counter
	}{
		{"not a trace", []byte("no trace at all, and long enough"), unknownFormats},
		{"of another Go", append([]byte("go 1.99 trace\x00\x00\x00"), whole[16:]...), unknownFormats},
		{"damaged", broken, parseErrors},
		{"a panic", whole, panics}, // as there is no store
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newTestRecorder(t)
			err := r.keep(t.Context(), bytes.NewBuffer(test.recording), taken{spans: spans})
			if err == nil {
				t.Fatal("no error")
			}
			r.failed(time.Now(), err, time.Time{})
			r.reporter.Wait(t.Context())
			if got := r.accounts.values[unreadable].Load(); got != uint64(len(spans)) {
				t.Errorf("%d spans are counted, want %d", got, len(spans))
			}
			for c := readings; c < counters; c++ {
				want := uint64(0)
				if c == test.why {
					want = 1
				}
				if got := r.accounts.values[c].Load(); got != want {
					t.Errorf("counter %q: %d, want %d", counterTexts[c].text, got, want)
				}
			}
			if test.why == panics && !errors.Is(err, timeline.ErrPanic) {
				t.Errorf("error %v, want ErrPanic", err)
			}
		})
	}
}

// Spans that the store does not know are counted.
func TestNoRecord(t *testing.T) {
	whole, tl := readRecording(t)
	r := newTestRecorder(t)
	var err error
	if r.store, err = store.New(); err != nil {
		t.Fatal(err)
	}
	if err := r.keep(t.Context(), bytes.NewBuffer(whole), taken{spans: []slowSpan{{id: spanID(&tl.Spans[0]), ended: time.Now()}, {id: "0123456789abcdef", ended: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	if missing, unknown := r.accounts.values[noRecord].Load(), r.accounts.values[notInTrace].Load(); missing != 1 || unknown != 1 {
		t.Errorf("%d spans without record, %d not in the trace, want 1 and 1", missing, unknown)
	}
}

// What is too long for the store becomes shorter, and says what is missing.
func TestFit(t *testing.T) {
	stack := make([]Frame, mostFrames)
	for i := range stack {
		stack[i] = Frame{Func: strings.Repeat("f", 500), File: strings.Repeat("g", 500), Line: i}
	}
	times := SpanTimes{Span: Span{Duration: time.Hour}}
	for range mostGoroutines {
		times.Goroutines = append(times.Goroutines, Goroutine{Intervals: make([]Interval, 20)})
	}
	for range mostWaits {
		times.Waits = append(times.Waits, Wait{Stack: stack, Ended: stack, Blockers: make([]Blocker, mostBlockers)})
	}
	for range mostSteps {
		times.Path = append(times.Path, Step{Duration: time.Second})
	}
	data, err := times.fit()
	if err != nil {
		t.Fatal(err)
	}
	var got SpanTimes
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(data) > store.MaxExactTimes || len(got.Waits) == 0 || !got.Omitted {
		t.Errorf("%d bytes with %d waits, omitted %t, want at most %d", len(data), len(got.Waits), got.Omitted, store.MaxExactTimes)
	}
	path := got.PathOmitted
	for _, s := range got.Path {
		path += s.Duration
	}
	if len(got.Waits)+got.WaitsOmitted != mostWaits || len(got.Goroutines)+got.GoroutinesOmitted != mostGoroutines || path != mostSteps*time.Second {
		t.Errorf("%d waits and %d omitted, %d goroutines and %d, a path of %v", len(got.Waits), got.WaitsOmitted, len(got.Goroutines), got.GoroutinesOmitted, path)
	}
}
