// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/store"
)

// keptPerByte is how many bytes of memory the analysis, and what threads ran, may take for each
// that WithMaxBytes allows: about 6 are needed, and more where tens of thousands of goroutines
// begin in a second.
const keptPerByte = 8

// SpanTimes is where the time of a span went, as a Recorder gives it to a store, and the
// page to its readers, in JSON.
type SpanTimes struct {
	// Format is that of the trace, such as "go 1.26"; "" for a span that began before it.
	Format string `json:"format"`
	// Start is when the span began by the wall clock of the trace. The span itself may
	// tell other times: those that the program gave it. A span that began before the trace
	// has these alone.
	Start time.Time `json:"start"`
	Span
	// Omitted says that the lists are shorter than Analyze would make them, so that all
	// fits into store.MaxExactTimes.
	Omitted bool `json:"omitted,omitempty"`
}

// errTooLarge says that a recording has more bytes than WithMaxBytes or the budget allow.
var errTooLarge = errors.New("exectrace: the recording is too large to be read")

// recording is what is read of the flight recorder, of most bytes at most.
type recording struct {
	bytes.Buffer
	most int64
}

func (b *recording) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.most {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}

// read takes the recording, and begins to read it.
func (r *Recorder) read(now time.Time) {
	if !r.budget.canRead(now, r.budget.bytes) {
		// A later one may fit: the account fills, and a byte is thought to cost less.
		r.budget.cannotRead()
		r.readAfter = now.Add(lookEvery)
		r.count(overBudget, len(r.pending.take()))
		return
	}
	spans := r.pending.take() // first: the recording has none that end later
	recording := recording{most: min(r.config.maxBytes, r.budget.affords())}
	recording.Grow(int(min(r.budget.bytes, recording.most)))
	var err error
	looked := now.Sub(r.last) < lookBefore/2 // just now
	from := time.Now()
	cpu := onThread(func() { _, err = r.flight.write(&recording) })
	now = now.Add(time.Since(from))
	if err == nil && r.grows(now, int64(recording.Len()), looked) {
		r.budget.read(0, cpu)
		r.readAfter = now.Add(lookBefore)
		r.count(tooMany, r.pending.giveBack(spans))
		if !looked {
			r.lookAt(now)
		}
		return
	}
	if err == nil && !r.flight.interrupted() {
		r.count(readings, 1)
		r.count(tooSoon, r.pending.notBefore(now.Add(readApart)))
		r.underway = r.readBeside(&recording.Buffer, cpu, taken{spans: spans, at: now, since: r.budget.since})
		return
	}
	r.budget.read(0, cpu)
	r.readAfter = now.Add(lookEvery)
	switch {
	case errors.Is(err, errTooLarge): // it has grown since the last look
		r.count(overBudget, len(spans))
		r.lookAt(now)
	case err != nil:
		r.count(writeFailures, 1)
		r.count(unreadable, len(spans))
		r.reporter.Report(err)
	default:
		r.count(foreignStops, 1)
		r.count(notRecording, len(spans))
		r.halt(now, ErrForeignStop, 0)
	}
}

// grows reports whether the recording has grown so fast since the last look that half of
// WithMaxBytes comes in a second: then recording is about to pause, and what a reading takes
// would come on top. Slow spans wait in the meantime. looked says that the last look was just
// before, so that it tells how fast.
func (r *Recorder) grows(now time.Time, bytes int64, looked bool) bool {
	if looked {
		return r.budget.bytesPerSecond > r.config.maxBytes/2
	}
	passed := now.Sub(r.last)
	return float64(bytes-r.budget.bytes) > float64(r.config.maxBytes)/2*passed.Seconds()
}

// failed counts why the recording that began at since could not be read, and begins a new one:
// what is damaged stays in it for a window. One that has come after it goes on, unless no other
// can be read either.
func (r *Recorder) failed(now time.Time, err error, since time.Time) {
	var (
		format *FormatError
		pause  time.Duration
	)
	switch {
	case errors.Is(err, timeline.ErrPanic):
		r.count(panics, 1)
	case errors.As(err, &format):
		r.count(unknownFormats, 1)
		pause = mostPause // until the program is built anew it will be no other
	default:
		r.count(parseErrors, 1)
	}
	if r.records() && (pause > 0 || since.Equal(r.budget.since)) {
		r.halt(now, err, pause)
		return
	}
	r.reporter.Report(err)
	if pause > 0 && !r.records() {
		r.why = err
		r.prolong(now.Add(pause))
	}
}

// unread returns what is counted of the slow spans that wait for a recording, or are looked for
// in it, when it is given up for a reason.
func unread(why error) counter {
	_, over := errors.AsType[*BudgetError](why)
	switch {
	case over:
		return overBudget
	case errors.Is(why, ErrForeignStop), errors.Is(why, errNotRecording):
		return notRecording
	}
	return unreadable
}

// taken is what a recording was taken for.
type taken struct {
	spans []slowSpan
	at    time.Time // of the recording's end
	since time.Time // when recording began, which may be long before the recording's start
}

// keep gives the store the exact times of spans, and counts what became of each.
func (r *Recorder) keep(ctx context.Context, recording *bytes.Buffer, of taken) (err error) {
	left := len(of.spans) // are not counted yet
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("exectrace: %w: %v", timeline.ErrPanic, p)
		}
		if err == nil {
			return
		}
		why := err
		if errors.Is(err, context.Canceled) {
			why = context.Cause(ctx)
		}
		r.count(unread(why), left)
	}()
	ids := make([]string, len(of.spans))
	for i, s := range of.spans {
		ids[i] = s.id
	}
	a, err := Analyze(recording, WithSpanIDs(ids...), WithMaxBytes(keptPerByte*r.config.maxBytes), quickly, until(ctx.Err))
	if err != nil {
		return err
	}
	found := map[string]*Span{}
	for i := range a.Spans {
		if s := &a.Spans[i]; found[s.ID] == nil {
			found[s.ID] = s
		}
	}
	for _, s := range of.spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.count(r.keepSpan(a, s, found[s.id], of), 1)
		left--
	}
	return nil
}

// keepSpan gives the store the exact times of a span, nil if the recording has none, and
// returns what became of it.
func (r *Recorder) keepSpan(a *Analysis, s slowSpan, exact *Span, of taken) counter {
	if a.Cut && (exact == nil || exact.Open) {
		return r.keepOlder(s, unreadable, "the recording has too many events for the memory that there is: WithMaxBytes allows more")
	}
	if exact != nil {
		return r.give(s.id, SpanTimes{Format: a.Format, Start: a.Start.Add(exact.Start), Span: *exact}, stored)
	}
	began, recorded := s.ended.Add(-s.duration), a.Duration.Round(100*time.Millisecond)
	since := of.since
	if a.Start.Before(since.Add(edge)) {
		since = a.Start // it has all events; the first one comes some time after it was asked for
	}
	switch {
	case !began.Before(a.Start):
		return notInTrace
	case began.Before(since):
		return r.keepOlder(s, olderThanWindow, fmt.Sprintf("the span began %v before recording did", since.Sub(began).Round(time.Millisecond)))
	case s.duration > r.config.window:
		return r.keepOlder(s, olderThanWindow, fmt.Sprintf("the span began before the recording, which is of %v: WithWindow makes it longer", recorded))
	case a.Duration < r.config.window-edge:
		return r.keepOlder(s, readTooLate, fmt.Sprintf("the span's start had left the recording, which is of %v as there is no room for more: WithMaxBytes makes it longer", recorded))
	}
	return r.keepOlder(s, readTooLate, fmt.Sprintf("read too late: %v after the span's end its start had left the recording, which is of %v", of.at.Sub(s.ended).Round(time.Millisecond), recorded))
}

// keepOlder gives the store of a span without exact times why that is so, with the times
// that the program tells, and returns outcome if it keeps them.
func (r *Recorder) keepOlder(s slowSpan, outcome counter, reason string) counter {
	return r.give(s.id, SpanTimes{Start: s.started, Span: Span{
		ID: s.id, Name: s.name, Duration: s.duration, Goroutines: []Goroutine{}, Waits: []Wait{}, Path: []Step{},
		Holes: []Hole{{Reason: reason, Duration: s.duration}},
	}}, outcome)
}

// give gives the store exact times, and returns outcome if it keeps them.
func (r *Recorder) give(id string, times SpanTimes, outcome counter) counter {
	data, err := times.fit()
	if err == nil {
		err = r.store.AddExactTimes(id, data)
	}
	switch {
	case errors.Is(err, store.ErrNoRecord):
		return noRecord
	case err != nil:
		r.reporter.Report(err)
		return unreadable
	}
	return outcome
}

// fit returns the JSON, with as much of the lists as there is room for.
func (t *SpanTimes) fit() ([]byte, error) {
	for most := 2 * mostSteps; ; most /= 2 { // the first time all but intervals stay
		data, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("exectrace: exact times: %w", err)
		}
		if len(data) <= store.MaxExactTimes || most == 0 {
			return data, nil
		}
		t.cut(most / 2)
	}
}

// cut leaves some entries of each list.
func (t *SpanTimes) cut(most int) {
	t.Omitted = true
	for i := range t.Goroutines {
		t.Goroutines[i].Intervals = nil
	}
	if n := len(t.Goroutines) - max(most, 1); n > 0 {
		t.Goroutines = t.Goroutines[:max(most, 1)]
		t.GoroutinesOmitted += n
	}
	if n := len(t.Waits) - most; n > 0 {
		t.Waits = t.Waits[:most]
		t.WaitsOmitted += n
	}
	for i := most; i < len(t.Path); i++ {
		t.PathOmitted += t.Path[i].Duration
	}
	t.Path = t.Path[:min(len(t.Path), most)]
	t.Holes = t.Holes[:min(len(t.Holes), most)]
	for i := range t.Waits {
		w := &t.Waits[i]
		w.Stack, w.Ended = w.Stack[:min(len(w.Stack), most)], w.Ended[:min(len(w.Ended), most)]
		w.Blockers = w.Blockers[:min(len(w.Blockers), most)]
	}
}
