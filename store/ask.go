// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// Generation returns a number that is another one whenever windows or ended spans
// have come, changed or gone: where it is the same before two equal queries, so
// are the answers, but for spans that run. It costs nothing, so that a page that
// asks again and again can be told that nothing is new.
func (s *Store) Generation() uint64 { return s.spans.Generation() }

// Stats returns what the store holds, took in and lost.
func (s *Store) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.statsWith(s.spans.Totals())
}

// Log returns what happened to the newest windows, the oldest event first: of
// the last 512 events, none for spans.
func (s *Store) Log() []Event {
	m := s.open()
	defer m.close()
	return m.log()
}

// Spans returns the spans that q selects: those held, and the manual exemplars
// of the profiles held. Of spans that have not ended only local roots are among
// them, if q asks for them.
func (s *Store) Spans(q SpanQuery) []Span {
	m := s.open()
	defer m.close()
	return m.listSpans(q)
}

// Span returns the span or manual exemplar with that profile_id or span_id. Of
// a span whose summary the store does not have it tells what the profiles tell:
// Name, Service, TraceID, CPU and CPUSamples, and in Start and Duration the
// bounds of the windows with its samples.
func (s *Store) Span(profileID string) (Span, bool) {
	m := s.open()
	defer m.close()
	return m.findSpan(profileID)
}

// NameTotals sums spans by service and name, those with most CPU time first. It
// counts the spans that ended in the time of the windows held, and their samples
// in these windows: also the spans that are not kept (see [WithMinDuration] and
// [WithSampling]) or that made room for others. What ended before the oldest
// window held does not count, though [Store.Spans] may list it.
//
// Samples count by the name that their span had when they came: where it got its
// last name later, that of a route, say, the name that it had before has CPU time
// without a span. Samples of spans that the store has no summary of count by their
// span_name. Of more than 1,000 names in one window, the further ones count as
// "other", those of more than some hundred services as that of no service.
// Manual exemplars with a name are spans too.
func (s *Store) NameTotals() []NameTotal {
	m := s.open()
	defer m.close()
	return m.nameTotals()
}

// Select returns the samples that match q, summed by stack. Without a profile
// of the kind the selection is empty. Of values that describe a moment, like
// inuse_space or goroutines, only those of each service's latest window that has
// any in the time of the query count. The error is ErrUnknownSampleType, for a
// SampleType that the kind does not have; it names the ones it has.
func (s *Store) Select(q Query) (*Selection, error) {
	h := s.held()
	return h.selection(q)
}

// Profile returns the samples that match q as a pprof profile with all sample
// types of the kind and all labels, or all but the ids (see [Query]), samples with
// the same stack and labels summed and those without any value left out;
// q.SampleType becomes its default type. The profile is the caller's own. Values
// that describe a moment and errors are as in Select. Comments and the frame
// filters of old profiles are not kept, and of an id label with several values
// only the first.
//
// With ids, each sample has labels of its own: all samples of a full store take
// many times the store's bytes. Query has a bound for them.
func (s *Store) Profile(q Query) (*profile.Profile, error) {
	h := s.held()
	return h.profile(q)
}

// Timeline returns the value that q selects by window and by span_name: of the n
// names with most of it each by itself, of the others together. The error is as
// in Select. Windows without a sample that matches are in it, with the value 0.
func (s *Store) Timeline(q Query, n int) (*Timeline, error) {
	h := s.held()
	return h.timeline(q, n)
}

// Kinds returns the kinds of profiles that have samples for the matchers and the
// time of q, by name. Kind and SampleType of q do not count.
func (s *Store) Kinds(q Query) []KindTotal {
	h := s.held()
	return h.kindTotals(q)
}

// Windows returns the windows held that q selects, by the time of their start,
// the oldest first.
func (s *Store) Windows(q WindowQuery) []WindowInfo {
	h := s.held()
	return h.infos(q)
}

// SampleTypes returns the names of the values that profiles of a kind have,
// "samples" and "cpu" say; none if the store holds no such profile.
func (s *Store) SampleTypes(kind exporter.Kind) []string {
	h := s.held()
	return h.sampleTypes(kind)
}
