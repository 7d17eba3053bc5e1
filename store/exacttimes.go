// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
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

// ErrNoRecord means that a span has no record, because it was evicted or is not kept. It is
// also the error of times that alone exceed the room for all.
var ErrNoRecord = errors.New("store: no record of this span is kept, or there is no room for its exact times")

// AddExactTimes keeps where the time of a span went, beside the record of the span. id is
// 16 hex digits, times is JSON as package exectrace makes it, at most MaxExactTimes of it.
// The error is ErrNoRecord if there is no record, or no room.
//
// Exact times are kept compressed. All together take a thirty-second of the store's bytes at
// most. Beyond that the oldest are dropped. They are dropped with their record, and are not
// written to a directory. A view shows the newest ones, also if they came after it was opened.
func (s *Store) AddExactTimes(id string, times json.RawMessage) error {
	if len(times) > MaxExactTimes {
		return fmt.Errorf("store: the exact times of span %s have %d bytes: at most %d are kept", id, len(times), MaxExactTimes)
	}
	if !json.Valid(times) {
		return fmt.Errorf("store: the exact times of span %s are not JSON", id)
	}
	key := ident.ParseKey(id)
	s.intake.Drain()
	if _, ok := s.room.Lookup(key); !ok || key == 0 {
		return ErrNoRecord
	}
	if !s.exact.add(key, times) {
		return ErrNoRecord
	}
	s.room.Changed()
	return nil
}

// exactTimes are the compressed times of spans by id.
type exactTimes struct {
	max int64

	mu    sync.Mutex
	times map[ident.Key][]byte
	order []ident.Key // the oldest first
	bytes int64
	// packer is reused: it takes several hundred kilobytes.
	packer *flate.Writer
}

// exactSize is about what an entry takes beside its text.
const exactSize = 64

// add returns false for times that have no room.
func (x *exactTimes) add(id ident.Key, times []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	packed := x.pack(times)
	if int64(len(packed))+exactSize > x.max {
		return false
	}
	x.remove(id)
	x.times[id], x.order = packed, append(x.order, id)
	x.bytes += int64(len(packed)) + exactSize
	for x.bytes > x.max {
		x.remove(x.order[0])
	}
	return true
}

func (x *exactTimes) pack(times []byte) []byte {
	if x.packer == nil {
		x.packer, _ = flate.NewWriter(nil, flate.BestSpeed) // a level that exists
	}
	var packed bytes.Buffer
	x.packer.Reset(&packed)
	_, _ = x.packer.Write(times) // a Buffer takes all
	_ = x.packer.Close()
	return slices.Clone(packed.Bytes())
}

func (x *exactTimes) remove(id ident.Key) {
	if packed, ok := x.times[id]; ok {
		x.bytes -= int64(len(packed)) + exactSize
		delete(x.times, id)
		x.order = slices.Delete(x.order, slices.Index(x.order, id), slices.Index(x.order, id)+1)
	}
}

// get returns the compressed times of a span, nil if absent.
func (x *exactTimes) get(id ident.Key) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.times[id]
}

// unpacked returns the JSON, nil if absent.
func unpacked(packed []byte) (json.RawMessage, error) {
	if packed == nil {
		return nil, nil
	}
	times, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("store: exact times: %w", err)
	}
	return times, nil
}
