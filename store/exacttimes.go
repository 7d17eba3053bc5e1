// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// MaxExactTimes is how many bytes of JSON the exact times of a span have at most.
const MaxExactTimes = 256 << 10

// ErrNoRecord says that a span has no record, as it made room for others or is not kept, or
// that its exact times alone take more than those of all spans may.
var ErrNoRecord = errors.New("store: no record of this span is kept, or there is no room for its exact times")

// Exact is implemented by the views of a source that may have exact times of spans.
type Exact interface {
	// HasExactTimes reports whether any span has some.
	HasExactTimes() bool
	// ExactTimes returns where the time of a span went, as an execution trace has told:
	// the JSON of exectrace.SpanTimes. It is nil where there is none.
	ExactTimes(id string) (json.RawMessage, error)
}

var _ Exact = (*view)(nil)

// packers are for reuse: each takes several hundred kilobytes.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic(err) // of a level that there is not
	}
	return w
}}

// AddExactTimes keeps with the record of a span, whose id is 16 hex digits, where its time
// went: JSON as package exectrace makes it, at most MaxExactTimes of it. The error is
// ErrNoRecord if there is no record, or no room.
//
// Exact times are kept compressed. Those of all spans together take a thirty-secondth of
// the store's bytes at most. Beyond that the oldest go, those of spans first that newer ones
// would push out. They go with their record, and are not written to a directory: see
// [WithDirectory].
func (s *Store) AddExactTimes(id string, times json.RawMessage) error {
	if len(times) > MaxExactTimes {
		return fmt.Errorf("store: the exact times of span %s have %d bytes: at most %d are kept", id, len(times), MaxExactTimes)
	}
	if !json.Valid(times) {
		return fmt.Errorf("store: the exact times of span %s are not JSON", id)
	}
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer func() {
		w.Reset(io.Discard) // it would keep packed
		packers.Put(w)
	}()
	w.Reset(&packed)
	_, err := w.Write(times)
	if err = cmp.Or(err, w.Close()); err != nil {
		return fmt.Errorf("store: exact times: %w", err)
	}
	key := ident.ParseKey(id)
	if key == 0 || !s.spans.SetExact(key, slices.Clip(packed.Bytes())) {
		return ErrNoRecord
	}
	return nil
}

func (v *view) HasExactTimes() bool { return v.spans.Exacts > 0 }

func (v *view) ExactTimes(id string) (json.RawMessage, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	r, ok := v.spans.Find(ident.ParseKey(id))
	if !ok || r.Exact == nil {
		return nil, nil
	}
	times, err := io.ReadAll(flate.NewReader(bytes.NewReader(r.Exact.Data)))
	if err != nil {
		return nil, fmt.Errorf("store: exact times: %w", err)
	}
	return times, nil
}
