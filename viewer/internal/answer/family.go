// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"math"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/waitclass"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// goPeriod is the CPU time between two samples of the Go runtime, if nothing else is known.
const goPeriod = 10 * time.Millisecond

// family is a span and the spans below it in this process that ended no later. Detached
// work that ended later took no time of the span.
type family struct {
	reader *Reader
	span   store.Span
	ids    []string // of the spans with samples, the span's own first
	query  Query    // of their wall time
	wall   *store.Samples
	// cpu, cpuSamples and wallSamples count every sample, held or evicted.
	cpu                     time.Duration
	cpuSamples, wallSamples int64
	left, later             int // spans below it that do not count
	// looked is set if goroutines were sampled in the time of the span. unwatched is the
	// time without wall profiles.
	looked    bool
	unwatched time.Duration
}

func newFamily(r *Reader, s store.Span, trace []store.Span) *family {
	t := &family{reader: r, span: s}
	end := s.Start.Add(s.Duration)
	room := maxListedBytes
	add := func(s store.Span) {
		t.cpu, t.cpuSamples, t.wallSamples = t.cpu+s.CPU, t.cpuSamples+s.CPUSamples, t.wallSamples+s.WallSamples
		if len(t.ids) == 0 || s.WallSamples+s.CPUSamples > 0 {
			t.ids = append(t.ids, s.ProfileID)
			room -= len(s.ProfileID) + 1
		}
	}
	add(s)
	sums.EachBelow(s, trace, func(s store.Span) bool {
		switch {
		case s.Running || s.Start.Add(s.Duration).After(end):
			t.later++
			return false
		case len(s.ProfileID) >= room:
			t.left++
			return false
		}
		add(s)
		return true
	})
	t.query = t.of(flameql.Wall)
	t.wall = r.selection(t.query)
	t.watch()
	return t
}

// of returns the query for the samples of the family in the time of the span.
func (t *family) of(typ flameql.Type) Query {
	q := flameql.ForService(t.span.Service)
	q.Type = typ
	q = q.WithEqual(labelkey.ProfileID, t.ids[0])
	if len(t.ids) > 1 {
		// Ids of spans are hexadecimal digits: they need no quoting.
		if m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, strings.Join(t.ids, "|")); err == nil {
			q = q.Without(labelkey.ProfileID).With(m)
		}
	}
	return t.reader.resolve(Query{Query: q, From: t.span.Start, Until: t.span.Start.Add(t.span.Duration)})
}

// watch sums the time of the span without samples of goroutines.
func (t *family) watch() {
	end := t.span.Start.Add(t.span.Duration)
	covered := sums.Covered(t.reader.allWindows(), t.span.Start, end, func(w store.WindowInfo) bool {
		return w.Kind == exporter.KindWall && w.Service == t.span.Service && sums.Same(w.Earlier, t.span.Earlier)
	})
	t.looked = covered > 0 || t.wall.Total > 0
	t.unwatched = t.span.Duration - covered + t.wall.Looks.Unwatched(t.span.Start, end)
}

// measure adds the states of each source.
func (t *family) measure(m *measured, s *Span) {
	if x := t.reader.exactTimesOf(&t.span); x != nil && len(x.Goroutines) > 0 {
		names := map[string]string{"running": onCPU, "runnable": ready}
		for _, state := range x.Goroutines[0].States {
			name, ok := names[state.State]
			if !ok {
				name = state.State
			}
			m.States = append(m.States, State{State: name, Ns: state.DurationNs, Source: byTrace})
		}
	}
	var classes [waitclass.Count]int64
	for _, sv := range t.wall.Stacks {
		classes[waitclass.Of(functionNames(sv.Stack))] += sv.Value
	}
	l, _ := newLooks(t.wall.Total, t.wall.Samples, t.wall.Looks, s, len(t.ids))
	for class, ns := range classes {
		if ns > 0 {
			m.States = append(m.States, State{waitclass.Class(class).String(), ns, int64(l.part(ns, t.wall.Total)), byWall})
		}
	}
	m.Samples[byWall], m.Samples[byCPU] = t.wall.Samples, t.cpuSamples
	if t.cpu > 0 {
		m.States = append(m.States, State{onCPU, t.cpu.Nanoseconds(), int64(float64(t.cpu) / math.Sqrt(float64(max(1, t.cpuSamples)))), byCPU})
	}
	m.Waited = t.span.Complete && t.span.Coverage == store.CoverageWhole
	// A time without a CPU sample may be up to two periods of CPU time.
	if t.wall.Samples < fewSamples && !t.span.HasExactTimes && m.Waited && t.reader.has(exporter.KindCPU) && t.span.Duration > 2*goPeriod {
		m.Rest = notOnCPU
	}
}

// note returns what limits the answer, in words.
func (t *family) note(s *Span) string {
	var notes []string
	add := func(condition bool, text string) {
		if condition {
			notes = append(notes, text)
		}
	}
	sampled, complete := t.wall.Total > 0, t.span.Complete && !t.span.Running
	switch {
	case t.span.HasExactTimes:
	case t.span.Running:
		add(true, "it is still running: these are the samples so far")
	case !t.span.Complete:
		add(true, "its last samples are not in yet")
	case sampled && t.wall.Samples < t.wallSamples && t.reader.stats.WindowsEvicted > 0, !sampled && t.wallSamples > 0:
		add(true, "some of its wall samples were evicted")
	case sampled:
		add(t.unwatched > goPeriod && t.unwatched*100 > t.span.Duration, "its goroutines were not sampled for "+nanoseconds(t.unwatched.Nanoseconds())+": the process was stopped, or no profile covers that time")
	case !t.looked && !t.reader.has(exporter.KindWall):
		add(t.reader.has(exporter.KindCPU), "there is no wall profile: with exporter.KindWall among the kinds of inprocess.WithKinds or profiler.WithKinds, the waits of a span are sampled")
	case !t.looked:
		add(true, "no wall profile covers its time: its waits are unknown")
	case complete:
		add(true, t.reader.emptyWall(s))
	}
	add(t.later > 0, "not counted: "+termtext.Plural(t.later, "span")+" below it that ended later")
	add(t.left > 0, "left out, because one query has room for no more: "+termtext.Plural(t.left, "span")+" below it")
	return joinNotes(notes...)
}
