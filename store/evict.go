// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// evictedWindows and evictedSamples bound how many windows go at once, and with
	// how many samples: views wait for them. What is copied for each lot, such as the
	// list of windows, is little for each window of it.
	evictedWindows = 512
	evictedSamples = 20_000
)

// evict lets windows go until the rest fits into limit bytes, or for as long as that is
// the thing to do, but for the samples of spans that are kept for longer. It returns the
// last window that went.
func (s *Store) evict(limit int64) (last *window) {
	share := limit / 4
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.index.eviction(share)
	for samples := 0; len(e.gone) < evictedWindows && samples < evictedSamples; {
		last = s.evictOne(e)
		samples += last.leaves.Len()
		left := len(s.index.windows) - len(e.gone)
		// The log of evictions takes its part.
		if s.bytes() <= min(limit, s.maxProfileBytes()) || s.keptBytes() > share || left == 0 || left < 2 && len(s.index.kept) > 0 {
			break
		}
	}
	s.index.finish(e)
	s.index.code = s.tables.code()
	s.spans.Changed()
	return last
}

// evictOne lets one window go. The caller holds the locks, and finishes the eviction.
func (s *Store) evictOne(e *eviction) *window {
	w := s.index.windows[e.next(&s.index)]
	s.keep(w, s.spans.Leave(w.OfSpans()))
	s.index.remove(e, w)
	// That a window of an earlier process goes is no loss of this one's.
	if w.process == nil {
		s.events.add(w.event(EventEvicted))
		s.stats.WindowsEvicted++
	}
	s.tables.release(w)
	return w
}

// eviction is the windows that go at once. They count no more, but are in the index until
// it is finished.
type eviction struct {
	share int64
	gone  map[*window]bool
	// oldest is the place of the first window that is not gone, unlabelled are those
	// of the windows without labels that may go, made when they are needed.
	oldest     int
	unlabelled []int
	listed     bool
	// times are those that were copied.
	times map[string]*cputime.Times
}

func (x *index) eviction(share int64) *eviction {
	return &eviction{share: share, gone: make(map[*window]bool), times: make(map[string]*cputime.Times)}
}

// next returns the place of the window that makes room next: the oldest, or of
// those without labels where these take more than a share. The newest of each kind
// is left to them.
func (e *eviction) next(x *index) int {
	for e.gone[x.windows[e.oldest]] {
		e.oldest++
	}
	if x.unlabelledBytes <= e.share {
		return e.oldest
	}
	if !e.listed {
		e.listed = true
		newer := make(map[exporter.Kind]bool)
		for i, w := range slices.Backward(x.windows) {
			if w.unlabelled() && newer[w.Kind] && !e.gone[w] {
				e.unlabelled = append(e.unlabelled, i)
			}
			newer[w.Kind] = newer[w.Kind] || w.unlabelled()
		}
	}
	for len(e.unlabelled) > 0 {
		last := len(e.unlabelled) - 1
		place := e.unlabelled[last]
		e.unlabelled = e.unlabelled[:last]
		if !e.gone[x.windows[place]] {
			return place
		}
	}
	return e.oldest
}

// remove takes a window out of what the index counts.
func (x *index) remove(e *eviction, w *window) {
	e.gone[w] = true
	x.bytes -= w.cost()
	if w.unlabelled() {
		x.unlabelled--
		x.unlabelledBytes -= w.cost()
	}
	if w.process != nil {
		x.restored--
		return
	}
	of := w.Service
	if x.times[of] == nil || w.Kind != exporter.KindCPU {
		return
	}
	// Views have the times of the index.
	was, t := x.times[of], e.times[of]
	if t == nil {
		t = was.Clone()
		e.times[of] = t
	} else {
		was = t
	}
	x.bytes -= was.Cost(of)
	t.Evict(ident.UnixNano(w.Start), ident.UnixNano(w.End))
	x.bytes += t.Cost(of)
}

// finish takes the windows out that are gone.
func (x *index) finish(e *eviction) {
	if len(e.gone) == 0 {
		return
	}
	windows := make([]*window, 0, len(x.windows)-len(e.gone))
	for _, w := range x.windows {
		if !e.gone[w] {
			windows = append(windows, w)
		}
	}
	x.windows = windows
	x.spare, x.before = nil, 0 // they hold what is gone
	if len(e.times) > 0 {
		x.times = maps.Clone(x.times)
		maps.Copy(x.times, e.times)
	}
}
