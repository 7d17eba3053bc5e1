// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

const (
	// apart is how far apart edges are that callers of Profile want, however
	// short their profiles are, unless an edge costs nothing: where runtime/pprof reads
	// CPU samples everybody loses those of an edge, some 20 ms, so that one each
	// second loses up to 2 %.
	apart = time.Second
	// maxPieces is how many pieces a tap keeps before it merges them, so
	// that a day's profile takes no more memory than its different stacks.
	maxPieces = 8
	// manyPieces is how many pieces of a window are kept before they are merged.
	manyPieces = 64
)

// slack returns how much before its time a profile of d may end. A fifth keeps
// short ones meaningful.
func slack(d time.Duration) time.Duration { return min(apart, d/5) }

// tap reads a stream along, for one caller of Profile.
type tap struct {
	until time.Time
	slack time.Duration
	gone  atomic.Bool   // the caller has left
	more  chan struct{} // holds a token when there are pieces to look at
	done  chan struct{} // closed after the last piece

	mu     sync.Mutex
	pieces []*exporter.Profile
}

func newTap(d time.Duration) *tap {
	return &tap{
		until: time.Now().Add(d),
		slack: slack(d),
		more:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
}

// give adds a piece. It does not wait for the reader.
func (t *tap) give(p *exporter.Profile) {
	t.mu.Lock()
	t.pieces = append(t.pieces, p)
	t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// over ends the tap if an edge at now is the end that it wants.
func (t *tap) over(now time.Time) bool {
	if t.until.Sub(now) > t.slack {
		return false
	}
	close(t.done)
	return true
}

// compact merges the pieces if there are many.
func (t *tap) compact() error {
	pieces := t.take(maxPieces)
	if pieces == nil {
		return nil
	}
	sum, err := merge(pieces)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pieces = append([]*exporter.Profile{sum}, t.pieces...)
	return nil
}

// take returns the pieces so far and forgets them, if there are at least n.
func (t *tap) take(n int) []*exporter.Profile {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pieces) < n {
		return nil
	}
	pieces := t.pieces
	t.pieces = nil
	return pieces
}
