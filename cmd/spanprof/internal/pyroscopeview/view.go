// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// viewTime bounds a request: the viewer's server gives up after two minutes.
	viewTime = 90 * time.Second
	// maxCalls bounds the calls of one request.
	maxCalls = 64
	// margin is how long before a span the profile with its samples may begin. The
	// server selects profiles by their beginning.
	margin = 2 * time.Minute
)

// view answers the questions of one request.
type view struct {
	*source
	ctx    context.Context
	cancel context.CancelFunc
	// from and until are the time of the request. chosen is set if the request has none.
	from, until time.Time
	chosen      bool
	calls       int
	notes       []string

	// What is asked once for a view.
	held   []series
	asked  bool // whether held is known
	merges map[string]*merged
	seen   map[string]querier.Selector
	spans  map[string]foundSpan
	listed map[string]*spanPage
	names  []store.NameTotal
}

var _ store.View = (*view)(nil)

// Info implements store.View.
func (v *view) Info() store.Info {
	info := store.Info{Notes: slices.Clip(v.notes), Lacks: store.LacksUpdates | store.LacksRecords | store.LacksWindows}
	if v.chosen {
		info.Notes = append(info.Notes, fmt.Sprintf("this is about %s, %s: from and until in the address choose another time, and -lookback another length", short(v.lookback), termtext.TimeRange(v.from, v.until)))
	}
	return info
}

// short writes a duration without zeros at its end: 1h.
func short(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zeros) + 1; n > 1 && text[n-1:] == zeros {
			text = text[:n]
		}
	}
	return text
}

// note adds a note, once.
func (v *view) note(text string) {
	if !slices.Contains(v.notes, text) {
		v.notes = append(v.notes, text)
	}
}

// Close implements store.View.
func (v *view) Close() { v.cancel() }

// call counts a call to the server, and fails if there were too many.
func (v *view) call() error {
	if err := v.ctx.Err(); err != nil {
		return fmt.Errorf("%s: no answer to all questions of this page within %s: ask for less time: %w", v.client, viewTime, err)
	}
	if v.calls++; v.calls > maxCalls {
		return fmt.Errorf("%s: this page takes more than %d calls: ask for less", v.client, maxCalls)
	}
	return nil
}

// times returns the time of a query, by default the time of the view.
func (v *view) times(from, until time.Time) (time.Time, time.Time) {
	switch {
	case from.IsZero() && until.IsZero():
		return v.from, v.until
	case from.IsZero():
		return until.Add(-v.lookback), until
	case until.IsZero():
		return from, v.until
	}
	return from, until
}

// around returns a time with what is before it in which profiles may begin that reach
// into it.
func around(from, until time.Time) (time.Time, time.Time) {
	return from.Add(-margin), until.Add(time.Second)
}

// group runs functions at one time, and returns the first error in their order.
func group(run ...func() error) error {
	errs := make([]error, len(run))
	var all sync.WaitGroup
	for i, f := range run {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return cmp.Or(errs...)
}
