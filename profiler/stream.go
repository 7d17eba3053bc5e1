// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// stream is one kind's measurement, cut into pieces. The pieces between two
// window ends make the window's profile, those between a tap's beginning and
// end make the tap's: both have the same samples. Only the loop calls it,
// except for begun.
type stream struct {
	kind    exporter.Kind
	sampler sampler
	edge    time.Time // when the open piece began
	pieces  []*exporter.Profile
	taps    []*tap

	mu    sync.Mutex
	first time.Time // see begun
}

// rank puts the CPU after the others.
func (s *stream) rank() int {
	if s.kind == exporter.KindCPU {
		return 1
	}
	return 0
}

func (s *stream) start() error {
	err := s.sampler.start()
	s.edge = time.Now()
	return err
}

// cut ends the open piece, by sampler.rotate or sampler.stop, and gives it to
// all who are concerned. The taps that are due anyway soon end here too.
func (s *stream) cut(by func(sampler) (*exporter.Profile, error)) error {
	if len(s.pieces) == 0 {
		s.begin(s.opened()) // before the next piece is open: Status may ask meanwhile
	}
	piece, err := by(s.sampler)
	s.edge = time.Now()
	if piece != nil {
		s.pieces = append(s.pieces, piece)
		for _, t := range s.taps {
			t.give(piece)
		}
	}
	s.taps = slices.DeleteFunc(s.taps, func(t *tap) bool { return t.over(s.edge) })
	return errors.Join(err, s.compact())
}

// end cuts and returns the window's profile, none if nothing was measured. If
// its pieces cannot be added, which is an error, they are returned one by one.
func (s *stream) end(by func(sampler) (*exporter.Profile, error)) ([]*exporter.Profile, error) {
	err := s.cut(by)
	pieces := s.pieces
	s.pieces = nil
	s.begin(time.Time{})
	if len(pieces) == 0 {
		return nil, err
	}
	windows := pieces
	w, mergeErr := merge(pieces)
	if mergeErr == nil {
		windows = []*exporter.Profile{w}
	}
	return windows, errors.Join(err, mergeErr)
}

// due returns when the first of the taps is to end; false if there is none.
func (s *stream) due() (time.Time, bool) {
	s.taps = slices.DeleteFunc(s.taps, func(t *tap) bool { return t.gone.Load() })
	if len(s.taps) == 0 {
		return time.Time{}, false
	}
	due := slices.MinFunc(s.taps, func(a, b *tap) int { return a.until.Compare(b.until) }).until
	if next := s.edge.Add(s.apart()); due.Before(next) {
		due = next
	}
	return due, true
}

// apart returns the least time between two cuts for callers of Profile.
func (s *stream) apart() time.Duration {
	if c, ok := s.sampler.(*cpu); ok {
		return c.apart()
	}
	return apart
}

// compact merges the pieces if there are many.
func (s *stream) compact() error {
	if len(s.pieces) < manyPieces {
		return nil
	}
	sum, err := merge(s.pieces)
	if err != nil {
		return err
	}
	s.pieces = []*exporter.Profile{sum}
	return nil
}

// release ends all taps with what they have.
func (s *stream) release() {
	for _, t := range s.taps {
		close(t.done)
	}
	s.taps = nil
}

// opened returns when the piece of the CPU that is to be cut began. It is zero if there is
// none, and for other kinds, of which nobody wants to know.
func (s *stream) opened() time.Time {
	if c, ok := s.sampler.(*cpu); ok && c.open != nil {
		return c.open.start
	}
	return time.Time{}
}

// begun returns when the first piece of the CPU's window began. That is known from just
// before this piece is cut until the window ends, and zero otherwise.
func (s *stream) begun() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

func (s *stream) begin(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = t
}
