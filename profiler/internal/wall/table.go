// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/stacks"
)

// maxEntries bounds a table, to about 30 MB with labels and stacks.
const maxEntries = 1 << 16

// table sums the samples of each stack and label set.
type table struct {
	entries map[uint64]*entry // by the hash of stack and labels
	key     []byte            // scratch space of add
	rounds  uint64            // that are complete

	now  []found // places of the round that is not complete
	last []found // places of the last complete round
}

// entry is the samples of one stack with one set of labels.
type entry struct {
	stack  []uintptr
	labels []label
	count  int64
	time   time.Duration
}

// found is a number of goroutines in one place.
type found struct {
	entry *entry
	count int64
}

func newTable() *table { return &table{entries: make(map[uint64]*entry)} }

// add counts goroutines for the round that is not complete, without time yet. If the table is
// full it counts nothing and returns false.
func (t *table) add(stack []uintptr, labels []label, count int64) bool {
	h := stacks.Hash(&t.key, stack, labels, "")
	e := t.entries[h]
	if e == nil {
		if len(t.entries) == maxEntries {
			return false
		}
		e = &entry{stack: stack, labels: labels}
		t.entries[h] = e
	}
	e.count += count
	t.now = append(t.now, found{e, count})
	return true
}

// complete ends a round.
func (t *table) complete() {
	t.rounds++
	clear(t.last)
	t.now, t.last = t.last[:0], t.now
}

// share counts the time since the last complete round: half of it for the places of that round,
// half for the round that is not complete. So a span that begins or ends
// between the two has its real time on average. The first round has all of the time.
func (t *table) share(d time.Duration) {
	if t.rounds > 0 {
		extend(t.last, d/2)
		d -= d / 2
	}
	extend(t.now, d)
}

// extend counts d more for the places of a round.
func extend(all []found, d time.Duration) {
	for _, f := range all {
		f.entry.time += d * time.Duration(f.count)
	}
}

// build returns the profile of a table that began at start and has lasted for d.
func build(s source, t *table, start time.Time, d time.Duration) *profile.Profile {
	built := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}},
		DefaultSampleType: "wall",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		TimeNanos:         start.UnixNano(),
		DurationNanos:     int64(d),
		Period:            int64(d) / int64(max(1, t.rounds)), // the mean
		Sample:            make([]*profile.Sample, 0, len(t.entries)),
	}
	var b *stacks.Builder
	b = stacks.New(built, s.split, func(pcs []uintptr) *profile.Location {
		frames := s.frames(pcs)
		if len(frames) == 0 {
			return nil
		}
		return &profile.Location{Address: uint64(pcs[0]), Line: b.Lines(frames)}
	})
	for _, e := range t.entries {
		sample := b.Add(e.stack, b.Labels(e.labels))
		sample.Value[0], sample.Value[1] = e.count, int64(e.time)
	}
	built.Sample = slices.DeleteFunc(built.Sample, ofHelper)
	return built
}

// helpers are goroutines of the standard library that wait for a connection or a transaction. They
// start within a span and inherit its labels: the first when a handler has read its request's body.
var helpers = map[string]bool{
	"net/http.(*connReader).backgroundRead":          true,
	"net/http.(*persistConn).readLoop":               true,
	"net/http.(*persistConn).writeLoop":              true,
	"net/http.(*http2ClientConn).readLoop":           true,
	"net/http/internal/http2.(*ClientConn).readLoop": true, // from Go 1.27 on
	"golang.org/x/net/http2.(*ClientConn).readLoop":  true,
	"database/sql.(*DB).connectionOpener":            true,
	"database/sql.(*Rows).awaitDone":                 true,
	"database/sql.(*Tx).awaitDone":                   true,
}

// ofHelper reports whether a sample is of one of the helpers.
func ofHelper(s *profile.Sample) bool {
	if len(s.Location) == 0 {
		return false
	}
	lines := s.Location[len(s.Location)-1].Line
	return len(lines) > 0 && helpers[lines[len(lines)-1].Function.Name]
}
