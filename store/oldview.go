// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// Source is anything with spans and profiles that can be shown. It is safe for concurrent use.
type Source interface {
	// View opens a view for one request. The queries of the view end with ctx.
	View(ctx context.Context) (View, error)
}

var _ Source = (*Store)(nil)

// View answers the queries of one request, all about the moment at which it was opened. It
// need not be safe for concurrent use. Answers stay valid after Close. A source without some
// data answers with zero values.
type View interface {
	// Spans returns the spans that q selects, with the manual exemplars held.
	Spans(q SpanQuery) ([]Span, error)
	// Span returns the span or manual exemplar with that profile_id or span_id.
	Span(id string) (span Span, ok bool, err error)
	// NameTotals sums spans by service and name, by descending CPU time: all that ended in
	// the time of the windows held, and the samples of these windows.
	NameTotals() ([]NameTotal, error)
	// Select returns the samples that q selects, summed by stack. Momentary values, such as
	// inuse_space, are of each service's latest window with matches. The error is
	// ErrUnknownSampleType for a SampleType that the kind does not have.
	Select(q Query) (*Selection, error)
	// Profile returns the same samples in the pprof format, with all sample types.
	Profile(q Query) (*profile.Profile, error)
	// Timeline returns the value that q selects by window, and by the n span_names with the
	// most of it.
	Timeline(q Query, n int) (*Timeline, error)
	// Kinds returns the kinds with samples for q, by name. It ignores Kind and SampleType.
	Kinds(q Query) ([]KindTotal, error)
	// Windows returns the windows that q selects, the oldest first.
	Windows(q WindowQuery) ([]WindowInfo, error)
	// Close ends the view. It must be called, and no other method after it.
	Close()
}

// Live is implemented by the views of a source that receives data while it is read.
type Live interface {
	Stats() Stats
	// Generation returns a number that increases with each change. While it stays, so do
	// the answers to equal queries, unless spans run.
	Generation() uint64
}

// Ranged is implemented by the views of a source that cannot be searched as a whole. About is
// called before any question, with the time of the request; zero means no bound.
type Ranged interface{ About(from, until time.Time) }

// Noter is implemented by the views of a source with remarks about its answers. Notes is called
// after the last question. The notes are sentences without a capital and a full stop.
type Noter interface{ Notes() []string }

// Timed is implemented by the views of a source with the times of samples. CPUTimes returns
// at most one entry for each of so many equal parts of a span's duration.
type Timed interface {
	CPUTimes(s Span, parts int) ([]CPUTime, error)
}

// Exact is implemented by the views of a source with exact times of spans: the JSON of
// exectrace.SpanTimes, nil if absent.
type Exact interface {
	HasExactTimes() bool
	ExactTimes(id string) (json.RawMessage, error)
}

// Measured is implemented by the views of a source with the duration of each span.
type Measured interface {
	// NameSpreads sums the spans with a record that q selects, in no order.
	NameSpreads(q SpanQuery) ([]NameSpread, error)
	// LabelTotals returns the value that q selects by service and span_name, in no order.
	LabelTotals(q Query) ([]LabelTotal, error)
}

// Attributed is implemented by the views of a source with attributes of spans. A span counts
// for each of its values and for each of its children's.
type Attributed interface {
	AttributeKeys() ([]AttributeKey, error)
	AttributeTotals(key string) ([]AttributeTotal, error)
	// KeptAttributes returns the keys of the attributes that are kept, nil if none are.
	KeptAttributes() []string
}

var (
	_ View       = (*view)(nil)
	_ Live       = (*view)(nil)
	_ Timed      = (*view)(nil)
	_ Exact      = (*view)(nil)
	_ Measured   = (*view)(nil)
	_ Attributed = (*view)(nil)
)

// view answers the queries of one request.
type view struct {
	*segment.View
	ctx   context.Context
	store *Store
	stats Stats
	exact map[ident.Key][]byte
}

// View opens a view of what the store holds now. It copies references only.
func (s *Store) View(ctx context.Context) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.settle()
	v := s.room.View()
	return &view{v, ctx, s, s.stats(v.Stats), s.exact.all()}, nil
}

func (v *view) Close() {}

func (v *view) Stats() Stats { return v.stats }

func (v *view) Generation() uint64 { return v.View.Generation }

// begin waits until the store allows one more question over all rows. End must follow
// if it returns nil.
func (v *view) begin() error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	select {
	case v.store.asking <- struct{}{}:
		return nil
	case <-v.ctx.Done():
		return v.ctx.Err()
	}
}

func (v *view) end() { <-v.store.asking }

// process returns an earlier process, nil for this one.
func process(p *segment.Process) *Process {
	if p == nil {
		return nil
	}
	return &Process{Started: time.Unix(0, p.Started), PID: p.PID, Service: p.Service, Version: p.Version}
}

func (v *view) HasExactTimes() bool { return len(v.exact) > 0 }

func (v *view) ExactTimes(id string) (json.RawMessage, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	key := ident.ParseKey(id)
	if _, ok := v.Find(key); !ok || key == 0 {
		return nil, nil
	}
	return unpacked(v.exact[key])
}

func (v *view) CPUTimes(s Span, parts int) ([]CPUTime, error) {
	if err := v.ctx.Err(); err != nil || parts <= 0 {
		return nil, err
	}
	list := make([]CPUTime, parts)
	width := s.Duration/time.Duration(parts) + 1 // the end is in the last part
	start := ident.UnixNano(s.Start)
	for _, t := range v.View.CPUTimes(ident.ParseKey(s.ProfileID), start, start+int64(s.Duration)) {
		after := min(max(time.Duration(t.At-start), 0), s.Duration) // times are rounded
		to := &list[after/width]
		if to.Samples == 0 {
			to.After = after
		}
		to.CPU += time.Duration(t.CPU)
		to.Samples += t.Samples
	}
	n := 0
	for _, t := range list {
		if t.Samples > 0 {
			list[n] = t
			n++
		}
	}
	return list[:n], nil
}

// failed adds the package to an error of a query.
func failed(err error) error {
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded { //nolint:errorlint // as they are
		return err
	}
	return fmt.Errorf("store: %w", err)
}
