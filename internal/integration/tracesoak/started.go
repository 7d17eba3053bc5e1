// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

const (
	// settled is the time after its end until which the fate of a span is known, on a busy
	// machine. The reading is 10 s after the last one, and may take long.
	settled = time.Minute
	// storeBytes has room for the exact times of more than that.
	storeBytes = 128 << 20
	// mostSettling bounds the wait for what becomes of the last spans.
	mostSettling = 2 * time.Minute

	slowSpans = "slow spans"
	readings  = "recordings read"
	stored    = "spans with exact times"
	notThere  = "slow spans that are not in the trace"
)

// started has exectrace.Start record. Each span is slow: of those that end within a second,
// 64 get exact times.
type started struct {
	source
	window   time.Duration
	store    *store.Store
	ledger   *ledger
	recorder *exectrace.Recorder
	checked  time.Duration   // spans that ended until then are compared
	seen     map[string]bool // spans that ended later and are
	late     int             // spans with a recording that was written too late: the program stalled
	counters map[string]int
}

func (s *started) start(tp *spanprof.TracerProvider, l *ledger) (err error) {
	s.ledger = l
	s.recorder, err = exectrace.Start(tp, s.store, exectrace.WithThreshold(1), exectrace.WithBudget(1), exectrace.WithWindow(s.window))
	return err
}

// read does nothing: the recorder reads when it has to.
func (s *started) read() error { return nil }

// check compares what the store has of spans with the ledger, before it needs the room for
// others.
func (s *started) check() error {
	v, err := s.store.View(context.Background(), time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	defer v.Close()
	now, seen := s.ledger.now(), map[string]bool{}
	for id, want := range s.ledger.around(s.checked, now) {
		if want.ended[1] <= s.checked {
			continue
		}
		if s.seen[id] {
			seen[id] = true
			continue
		}
		list, err := v.Spans(store.SpanQuery{ID: id, Exact: true, Brief: true})
		if err != nil {
			return err
		}
		if len(list.Spans) == 0 || list.Spans[0].ExactTimes == nil {
			continue
		}
		seen[id] = true
		var got exectrace.SpanTimes
		if err := json.Unmarshal(list.Spans[0].ExactTimes, &got); err != nil {
			return fmt.Errorf("exact times of span %s: %w", id, err)
		}
		if len(got.Goroutines) > 0 {
			s.found++
			s.compare(&got.Span, want)
			s.off = max(s.off, want.ended[0]-want.began[1]-got.Duration, got.Duration-(want.ended[1]-want.began[0]))
			continue
		}
		// The recording that the span is not in was written before now, and has a window.
		if now-want.began[0] < s.window-s.edge {
			s.mistake(&s.missing, "span %s %q of %v: %+v", id, want.name, want.ended[1]-want.began[0], got.Holes)
		} else {
			s.late++
		}
	}
	s.checked, s.seen = max(0, now-settled), seen
	return nil
}

// stop waits until it is known what became of each span, compares the last ones, and ends
// the recording.
func (s *started) stop() error {
	var unknown int
	for from := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if unknown = s.count(); unknown == 0 || time.Since(from) > mostSettling {
			break
		}
	}
	err := s.check()
	if stopped := s.recorder.Shutdown(context.Background()); err == nil {
		err = stopped
	}
	s.counts += fmt.Sprintf(", %d read too late by a program that stalled", s.late)
	s.recordings = s.counters[readings]
	s.expected = s.found + s.missing + s.counters[notThere]
	s.missing += s.counters[notThere]
	for _, fault := range []string{"recordings that are damaged", "recordings of an unknown format", "panics while reading", "recordings that could not be written"} {
		s.parseErrors += s.counters[fault]
	}
	if all := s.ledger.count(); s.counters[slowSpans] != all || unknown != 0 {
		s.mistake(&s.wrong, "%d local roots ended, %d are counted, and the fate of %d is unknown", all, s.counters[slowSpans], unknown)
	}
	if s.counters[stored] != s.found {
		s.mistake(&s.wrong, "%d spans have exact times by the counter, %d in the store", s.counters[stored], s.found)
	}
	for _, event := range []string{"pauses for the budget", "recordings ended by a foreign trace.Stop", "starts refused for another flight recorder"} {
		if n := s.counters[event]; n > 0 {
			s.mistake(&s.wrong, "%d %s", n, event)
		}
	}
	return err
}

// held reports whether spans have exact times.
func (s *started) held() bool {
	s.count()
	return s.counters[stored] > 0
}

// count reads the counters, and returns of how many slow spans it is not known what became of
// them.
func (s *started) count() (unknown int) {
	s.counters = map[string]int{}
	var texts []string
	for name, n := range s.recorder.Counters() {
		name = strings.TrimPrefix(name, "exact times: ")
		s.counters[name] = int(n)
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, name))
		}
		if name != slowSpans && strings.Contains(name, "spans") {
			unknown -= int(n)
		}
	}
	s.counts = strings.Join(texts, ", ")
	return unknown + s.counters[slowSpans]
}
