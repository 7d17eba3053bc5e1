// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/store"
)

const (
	// keptPerByte bounds the memory of an analysis by the largest recording. About 6 are usual,
	// more with tens of thousands of new goroutines a second.
	keptPerByte = 8
	// edge is the possible lack of events at both ends of a recording: threads begin a part of
	// it at different times.
	edge = 100 * time.Millisecond
)

// recording gets the bytes of the flight recorder: at most as many as allowed, or their number.
type recording struct {
	bytes.Buffer
	n, most int64
	keep    bool
}

func (b *recording) Write(p []byte) (int, error) {
	b.n += int64(len(p))
	if b.keep && b.n <= b.most {
		return b.Buffer.Write(p)
	}
	return len(p), nil
}

// spanTimes is the JSON of a span in the store.
type spanTimes struct {
	Start time.Time `json:"start"`
	Span
	Omitted bool `json:"omitted,omitempty"`
}

// read gives the store the exact times of the spans that ended before a time, and counts each.
func (r *Recorder) read(data *bytes.Buffer, until time.Time) (err error) {
	spans, overflow := r.inbox.take(until)
	r.count(missed, overflow)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("exectrace: %w: %v", timeline.ErrPanic, p)
		}
		r.count(missed, len(spans)) // the rest, after an error
	}()
	ids := make([]string, len(spans))
	for i, s := range spans {
		ids[i] = s.id
	}
	a, err := analyze(data, Query{IDs: ids}, r.config.maxBytes(), keptPerByte*r.config.maxBytes())
	if err != nil {
		return err
	}
	r.count(readings, 1)
	found := map[string]*Span{}
	for i := range a.Spans {
		found[a.Spans[i].ID] = &a.Spans[i]
	}
	for ; len(spans) > 0; spans = spans[1:] {
		outcome, exact := missed, found[spans[0].id]
		if exact != nil && (!a.Cut || !exact.Open) && r.give(exact.ID, spanTimes{Start: a.Start.Add(exact.Start), Span: *exact}) {
			outcome = stored
		}
		r.count(outcome, 1)
	}
	return nil
}

// give returns false if the store does not keep the span.
func (r *Recorder) give(id string, times spanTimes) bool {
	data, err := times.fit()
	if err == nil {
		err = r.store.AddExactTimes(id, data)
	}
	if err != nil && !errors.Is(err, store.ErrNoRecord) {
		r.reporter.Report(err)
	}
	return err == nil
}

// fit returns the JSON. It halves the waits until there is room: the other lists are short.
func (t *spanTimes) fit() ([]byte, error) {
	for {
		data, err := json.Marshal(t)
		if err != nil || len(data) <= store.MaxExactTimes || len(t.Waits) == 0 {
			return data, err
		}
		kept := len(t.Waits) / 2
		t.Omitted, t.WaitsOmitted, t.Waits = true, t.WaitsOmitted+len(t.Waits)-kept, t.Waits[:kept]
	}
}
