// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// sampler measures one kind, piece after piece. Only the loop calls it.
//
// rotate and stop return the profile of the piece that they close. It is nil if no piece was
// open, or with an error if it could not be read. The loop reports errors and goes on; an
// error can come with a profile.
type sampler interface {
	// start opens the first piece.
	start() error
	// rotate closes the open piece and opens the next.
	rotate() (*exporter.Profile, error)
	// stop closes the open piece.
	stop() (*exporter.Profile, error)
}

// stream is the measurement of one kind, cut into pieces. The pieces between two ends of windows
// are the window's profile. A caller of Profile has its own pieces: both have the same samples.
// Only the loop uses it.
type stream struct {
	kind    exporter.Kind
	sampler sampler
	apart   func() time.Duration // the least time between two cuts for callers
	edge    time.Time            // when the open piece began
	pieces  []*exporter.Profile
	taps    []*tap
}

// manyPieces is how many pieces of a window are kept before they are merged.
const manyPieces = 64

func (s *stream) start() error {
	err := s.sampler.start()
	s.edge = time.Now()
	return err
}

// cut ends the open piece, by sampler.rotate or sampler.stop, and gives it to the window and
// to the taps. Taps that end within their slack end here.
func (s *stream) cut(by func(sampler) (*exporter.Profile, error)) error {
	piece, err := by(s.sampler)
	s.edge = time.Now()
	if piece != nil {
		s.pieces = append(s.pieces, piece)
		for _, t := range s.taps {
			t.give(piece)
		}
	}
	s.taps = slices.DeleteFunc(s.taps, func(t *tap) bool { return t.over(s.edge) })
	if len(s.pieces) < manyPieces {
		return err
	}
	sum, unlike := merge(s.pieces)
	if unlike == nil {
		s.pieces = []*exporter.Profile{sum}
	}
	return errors.Join(err, unlike)
}

// end cuts and returns the window's profile, none if nothing was measured. If its pieces
// cannot be added, which is an error, it returns them one by one.
func (s *stream) end(by func(sampler) (*exporter.Profile, error)) ([]*exporter.Profile, error) {
	err := s.cut(by)
	pieces := s.pieces
	s.pieces = nil
	if len(pieces) == 0 {
		return nil, err
	}
	w, unlike := merge(pieces)
	if unlike != nil {
		return pieces, errors.Join(err, unlike)
	}
	return []*exporter.Profile{w}, err
}

// due returns when the first of the taps must end; false if there is none.
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

// release ends all taps with the pieces that they have.
func (s *stream) release() {
	for _, t := range s.taps {
		close(t.done)
	}
	s.taps = nil
}
