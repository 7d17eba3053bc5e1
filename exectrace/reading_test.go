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

// Each span of an unreadable recording is counted. The next recording begins at once, except for
// an unknown format.
func TestUnreadableRecordings(t *testing.T) {
	whole, tl := readRecording(t)
	broken := bytes.Clone(whole)
	copy(broken[len(broken)/2:], strings.Repeat("\xff", 100))
	for _, test := range []struct {
		name      string
		recording []byte
		want      error
		pause     time.Duration
	}{
		{"damaged", broken, ErrDamaged, 0},
		{"an unknown format", []byte("go 1.99 trace\x00\x00\x00"), timeline.ErrFormat, longPause},
		{"a panic", whole, timeline.ErrPanic, 0}, // without a store
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newTestRecorder(t)
			r.store = nil
			r.inbox.open(true)
			for range 5 {
				r.inbox.add(slowSpan{id: spanID(&tl.Spans[0])})
			}
			now := time.Now()
			err := r.read(bytes.NewBuffer(test.recording), now)
			if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			if r.failed(now, err); r.next != now.Add(test.pause) {
				t.Errorf("a pause of %v, want %v", r.next.Sub(now), test.pause)
			}
			want := map[counter]uint64{missed: 5, failures: 1}
			if errors.Is(test.want, timeline.ErrPanic) {
				want[readings] = 1
			}
			r.wants(t, want)
		})
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
	if len(got.Waits)+got.WaitsOmitted != mostWaits {
		t.Errorf("%d waits and %d omitted", len(got.Waits), got.WaitsOmitted)
	}
}
