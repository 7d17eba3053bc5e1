// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Source is anything whose spans and profiles can be shown: a Store, profiles in
// files, a profile server. It is safe for concurrent use.
type Source interface {
	// View opens a view for one request. The queries of the view end with ctx.
	View(ctx context.Context) (View, error)
}

var _ Source = (*Store)(nil)

// View answers the queries of one request. Its answers agree with each other: all
// of them are about the one moment at which the view was opened, as far as the
// source can tell, so that the samples of a [Selection] are those that [Span] and
// [KindTotal] count. Store.View says what a Store guarantees.
//
// A source that does not know something answers with zero values: profiles in
// files have no spans to list. An error says that the query is wrong
// ([ErrUnknownSampleType], [ErrTooManySamples], [ErrUnsupported]), that the context has ended, or
// that the source failed.
//
// A view serves one request: it need not be safe for concurrent use. What it
// returned stays valid after Close, and belongs to the caller, except for the
// locations of stacks, which are shared and must not be changed.
type View interface {
	// Spans returns the spans that q selects and the manual exemplars of the
	// profiles held. Of spans that have not ended only local roots are among
	// them, if q asks for them.
	Spans(q SpanQuery) ([]Span, error)
	// Span returns the span or manual exemplar with that profile_id or
	// span_id, and whether there is one. Of a span without a summary it
	// returns what the profiles tell: Name, Service, TraceID, CPU and
	// CPUSamples, and in Start and Duration the bounds of the windows with its
	// samples.
	Span(id string) (Span, bool, error)
	// NameTotals sums spans by service and name, those with most CPU time
	// first. It counts the spans that ended in the time of the windows held,
	// and their samples in these windows: also the spans that are not kept (see
	// [WithMinDuration] and [WithSampling]) or that made room for others. What
	// ended before the oldest window held does not count, though Spans may
	// list it.
	//
	// Samples count by the name that their span had when they came. If a span is
	// renamed later, to that of a route, say, its earlier name has CPU time
	// without a span. Samples of spans without a summary count by their
	// span_name. Of more than 1,000 names in one window, the further ones count
	// as "other"; of more than some hundred services, those of the further ones
	// count as that of no service. Manual exemplars with a name are spans too.
	NameTotals() ([]NameTotal, error)

	// Select returns the samples that q selects, summed by stack; none if
	// there is no profile of the kind. Of values that describe a moment, such as
	// inuse_space and goroutines, only those of each service's latest window
	// that has any in the time of q count. The error is ErrUnknownSampleType
	// for a SampleType that the kind does not have; it lists those it has.
	Select(q Query) (*Selection, error)
	// Profile returns the samples that q selects in the pprof format, with all
	// sample types of the kind and all labels, or all but the ids (see
	// [Query]). Samples with the same stack and labels are summed, and those
	// without any value left out; q.SampleType becomes the default type.
	// Values that describe a moment and errors are as in Select. Comments, but for
	// what wall profiles say of their looks, and
	// the frame filters of old profiles are not kept, and of an id label with
	// several values only the first.
	//
	// With ids, each sample has labels of its own: all samples of a full store
	// take many times the store's bytes. Query has a bound for them.
	Profile(q Query) (*profile.Profile, error)
	// Timeline returns the value that q selects by window and by span_name: of
	// the n names with most of it each by itself, of the others together.
	// Windows without a matching sample have the value 0. The error is as in
	// Select.
	Timeline(q Query, n int) (*Timeline, error)

	// Kinds returns the kinds of profiles that have samples for the matchers
	// and the time of q, by name. Kind and SampleType of q do not count.
	Kinds(q Query) ([]KindTotal, error)
	// Windows returns the windows that q selects, by start, the oldest first.
	Windows(q WindowQuery) ([]WindowInfo, error)

	// Close ends the view. It must be called, and no other method after it; a
	// second call does nothing.
	Close()
}

// Live is implemented by the views of a source that takes in spans and profiles
// while it is read, such as a Store. Other sources have no log, and nothing to poll
// for. The answers agree with those of the [View].
type Live interface {
	// Stats returns what the source holds, took in and lost.
	Stats() Stats
	// Log returns what happened to the newest windows, the oldest event first:
	// the last 512 events, none of them about spans.
	Log() []Event
	// Generation returns a number that goes up whenever windows or ended spans
	// come, change or go, when a profile is refused, when a directory is written,
	// and when a span runs after none did. While it stays the same, so do the
	// answers to equal queries and Stats, except while spans run: a client that
	// polls need not ask again.
	Generation() uint64
}

// Ranged is implemented by the views of a source that keeps more than it can look
// through, such as a profile server. About is called before any question, with the time
// that the request is about: NameTotals, Windows and Span answer about it then. A zero
// time leaves that side open.
type Ranged interface {
	About(from, until time.Time)
}

// Noter is implemented by the views of a source that has something to say about its
// answers, such as that they are cut short. Notes is called after the last question. The
// notes are sentences without a capital and a full stop.
type Noter interface {
	Notes() []string
}

var (
	_ View = (*view)(nil)
	_ Live = (*view)(nil)
)

// View opens a view of what the store holds now. All of its answers are about one
// moment between two changes: a profile that comes or makes room counts
// everywhere or nowhere, and so does a span that starts, ends or makes room. The
// durations of running spans are those of that moment.
//
// A view copies references, not spans or samples. While it is open, the records of
// spans that change are kept as they were, so close it early. All open views
// together keep at most twice the records that the store has: beyond that, further
// views share the moment of the last one. Opening a view waits for a profile that
// is being added, for some milliseconds at most. Spans and profiles do not wait
// while a view is open.
func (s *Store) View(ctx context.Context) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &view{ctx: ctx, moment: s.open()}, nil
}

// moment is what the store held at one moment.
type moment struct {
	held
	store *Store
	spans *spanlog.View
	// now is the moment in nanoseconds since 1970.
	now    int64
	stats  Stats
	events []Event
	oldest int
}

// open returns the moment of a new view, for which close must be called.
func (s *Store) open() *moment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.viewsMu.Lock()
	defer s.viewsMu.Unlock()
	var last *spanlog.View
	if s.last != nil {
		last = s.last.spans
	}
	spans := s.spans.Open(last)
	if spans == last {
		return s.last
	}
	m := &moment{held: s.index.held, store: s, spans: spans, now: time.Now().UnixNano(), stats: s.statsWith(spans.Totals)}
	m.events, m.oldest = s.events.share()
	s.last = m
	return m
}

func (m *moment) close() {
	m.store.viewsMu.Lock()
	defer m.store.viewsMu.Unlock()
	if m.spans.Close() {
		m.store.last = nil
	}
}

// Stats returns what the store holds, took in and lost.
func (s *Store) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.statsWith(s.spans.Totals())
}

// statsWith returns the statistics, with those of the spans. The caller holds the
// lock.
func (s *Store) statsWith(spans spanlog.Totals) Stats {
	stats := s.stats
	stats.Windows = len(s.index.windows) - s.index.restored
	stats.Directory = s.directory.stats(spans)
	stats.MaxBytes = s.maxBytes
	stats.Bytes += s.events.bytes() + spans.Bytes
	stats.SpansEnded = spans.Ended
	stats.SpansNotKept = spans.NotKept
	stats.SpansEvicted, stats.SpansEvictedEarly = spans.Evicted, spans.EvictedEarly
	stats.SpansForgotten = spans.Forgotten
	stats.SpansLosingSamples, stats.CPUTimeLost = spans.SamplesLost, spans.CPULost
	stats.SpansWithSamples = spans.WithSamples
	stats.AttributesLost, stats.AttributesUnseen = spans.LostAttributes, spans.UnseenAttributes
	stats.Spans, stats.SpansRunning = spans.Held, spans.Running
	return stats
}

// view answers the queries of one request about a moment. The methods that answer
// are beside the types of their answers.
type view struct {
	ctx context.Context
	*moment
	closed bool
	// asked counts how often a query looked whether it has ended; gone says that it has.
	asked uint
	gone  bool
	// spanNodes are made when a query needs them.
	spanNodes *spanNodes
	// expressions are those of the queries before, spent is what they cost.
	expressions map[expressionKey]*expression
	spent       int64
}

// askEvery is how often a loop of a query may look whether it has ended until the context
// is asked: that takes as long as a few turns.
const askEvery = 64

// ended reports whether nobody waits for the answer any more. The loops of queries look.
func (v *view) ended() bool {
	if v.asked++; !v.gone && v.asked%askEvery == 0 {
		v.gone = v.ctx.Err() != nil
	}
	return v.gone
}

func (v *view) Stats() Stats { return v.stats }

func (v *view) Log() []Event { return slices.Concat(v.events[v.oldest:], v.events[:v.oldest]) }

// Generation returns the generation that a view opened now has, or will have soon: see
// [Live]. It waits for nothing.
func (s *Store) Generation() uint64 { return s.spans.Generation() }

func (v *view) Generation() uint64 { return v.spans.Generation }

func (v *view) Close() {
	if !v.closed {
		v.closed = true
		v.close()
	}
}
