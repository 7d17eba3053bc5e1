// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/sorting"
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
	if r.cpuType() == flameql.Host {
		host := r.selection(t.of(flameql.Host))
		t.cpu, t.cpuSamples = time.Duration(host.Total), host.Samples
	}
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
		add(t.reader.has(exporter.KindCPU), "there is no wall profile: with exporter.KindWall among the kinds of profiler.WithKinds, the waits of a span are sampled")
	case !t.looked:
		add(true, "no wall profile covers its time: its waits are unknown")
	case complete:
		add(true, t.reader.noneHit(exporter.KindWall, s))
	}
	add(t.later > 0, "not counted: "+termtext.Plural(t.later, "span")+" below it that ended later")
	add(t.left > 0, "left out, because one query has room for no more: "+termtext.Plural(t.left, "span")+" below it")
	return joinNotes(notes...)
}

// Wait is how much of a wall time goroutines waited for something of one class.
type Wait struct {
	Class string `json:"class"`
	Ns    int64  `json:"ns"`
	// ErrorNs is the standard error of Ns.
	ErrorNs int64 `json:"errorNs,omitempty"`
}

// looks has the number of looks at goroutines in the sum of a wall time. It also has the mean
// number of goroutines that a look found, at least 1.
//
// Each look counts the time since the one before, d. What several looks in a row have found is
// right except for its two ends. These have up to an interval too much or too little. What a single
// look has found may have been much shorter. More of its kind may not have been found. Then the
// looks are counted, and their number has its own variance, d² for each. Goroutines that wait for
// the same have the same error, so that it is as many times larger.
//
// The profile has the variance of the intervals. Without it they are assumed to be of half to one
// and a half times the mean: two ends have a variance of 0.247 d² then.
type looks struct {
	n       int64
	at      float64 // goroutines in one
	several bool    // spans: each has its own ends

	each, single, ends float64 // variances: of a look that is counted, of the only one, of two ends; ns²
}

func newLooks(total, n int64, of *store.Looks, span *Span, ids int) (l looks, known bool) {
	if total <= 0 {
		return looks{}, false
	}
	n = max(1, n) // what a look of an earlier window has found goes on without any in this one
	d := float64(total) / float64(n)
	l = looks{n: n, at: 1, each: d * d, single: d * d, ends: d * d / 4}
	if of.Known() {
		// A look next to the end of a window counts for two intervals, or more.
		l.each, l.single, l.ends = max(l.each, of.Mean()), of.Single(), of.Ends(time.Time{}, time.Time{})
	}
	if span == nil || ids > 1 || span.Manual || span.SummaryMissing || span.DurationNs <= 0 {
		l.several = true
		return l, true
	}
	l.at = max(1, float64(total)/float64(span.DurationNs))
	if of.Known() {
		l.ends = of.Ends(span.Start, span.Start.Add(time.Duration(span.DurationNs)))
		l.single = max(l.single, l.ends)
	}
	return l, true
}

// variance returns the variance of the sum of all looks, in ns².
func (l looks) variance() float64 {
	switch {
	case l.several:
		return l.each * float64(l.n)
	case float64(l.n) < 2*l.at:
		return l.single * l.at * l.at
	}
	return l.ends * l.at * l.at
}

// part returns the standard error of the time that is value of the sum, in ns. Which
// looks find what is a matter of chance: as with n draws.
func (l looks) part(value, total int64) float64 {
	share := float64(value) / float64(total)
	draws := l.each * l.at * float64(l.n) * share * (1 - share)
	return math.Sqrt(max(0, draws) + share*share*l.variance())
}

// setWall answers what wall time was spent on, and how far off it may be.
func (a *Profile) setWall(sel *store.Samples) {
	if a.query.Type.Kind != exporter.KindWall {
		return
	}
	a.setUnwatched(sel, looks{at: 1})
	if len(sel.Stacks) == 0 {
		return
	}
	var sums [waitclass.Count]int64
	for _, sv := range sel.Stacks {
		sums[waitclass.Of(functionNames(sv.Stack))] += sv.Value
	}
	l, known := newLooks(a.Total, a.Samples, sel.Looks, a.Span, a.ProfileIDs)
	if known {
		a.ErrorNs = int64(math.Sqrt(l.variance()))
		a.setUnwatched(sel, l)
	}
	for class, ns := range sums {
		if ns == 0 {
			continue
		}
		w := Wait{Class: waitclass.Class(class).String(), Ns: ns}
		if known {
			w.ErrorNs = int64(l.part(ns, a.Total))
		}
		a.Waits = append(a.Waits, w)
	}
	sorting.Stable(a.Waits, func(x, y Wait) int { return cmp.Compare(y.Ns, x.Ns) })
}

// setUnwatched answers what wall time may be missing: of a span, or of what has none.
func (a *Profile) setUnwatched(sel *store.Samples, l looks) {
	if a.Span == nil {
		if length := cmp.Or(sel.LooksLength, sel.Until.Sub(sel.From)); length > 0 {
			a.UnwatchedShare = min(1, float64(sel.Looks.Unwatched(sel.From, sel.Until))/float64(length))
		}
		return
	}
	span := a.span
	if span.Duration <= 0 {
		return
	}
	unwatched := float64(sel.Looks.Unwatched(span.Start, span.Start.Add(span.Duration))) * l.at
	// Without the error, a goroutine has the time of the span at most.
	if lacks := float64(span.Duration) - float64(a.Total); lacks > -2*float64(a.ErrorNs) {
		if unwatched = min(unwatched, lacks); unwatched <= 2*float64(a.ErrorNs) {
			unwatched = 0
		}
	}
	a.UnwatchedNs = int64(unwatched)
}

// functionNames returns the functions of a stack, the leaf first.
func functionNames(stack []*profile.Location) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, location := range stack {
			for _, line := range location.Line {
				if line.Function != nil && !yield(line.Function.Name) {
					return
				}
			}
		}
	}
}

// waits returns what was waited for, in words.
func (a *Profile) waits() string {
	parts := make([]string, len(a.Waits))
	for i, w := range a.Waits {
		parts[i] = fmt.Sprintf("%s %s%s (%s)", w.Class, termtext.Value(w.Ns, termtext.Nanoseconds), plusMinus(w.ErrorNs), termtext.Percent(w.Ns, a.Total))
	}
	return strings.Join(parts, ", ")
}

// plusMinus returns a standard error in words.
func plusMinus(ns int64) string {
	if ns == 0 {
		return ""
	}
	return " ± " + termtext.Value(ns, termtext.Nanoseconds)
}
