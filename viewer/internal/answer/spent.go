// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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

// The parts of a span's time that are no class of waits.
const (
	onCPU        = "on a CPU"
	notOnCPU     = "not on a CPU"
	notSeen      = "not seen"
	noLonger     = "no longer held"
	nobodyLooked = "nobody looked"
)

// goPeriod is the CPU time between two samples of the Go runtime, if nothing else is known.
const goPeriod = 10 * time.Millisecond

// Spent is what the time of a span went to: the span's own, and that of the spans below it
// in this process that ended no later and have profiles of their own.
type Spent struct {
	// Of says in words what Parts are parts of, and Ns is their sum.
	Of string `json:"of"`
	Ns int64  `json:"ns"`
	// Goroutines says that this is the time of several goroutines that worked for the
	// span at a time: it is longer than the span.
	Goroutines bool `json:"goroutines,omitempty"`
	// Parts come with the longest first, then those that no sample tells of.
	Parts []Wait `json:"parts"`
	// Note says in words what to know about them.
	Note string `json:"note,omitempty"`
	// Query selects the wall time in the parts, if it was sampled.
	Query string `json:"query,omitempty"`
}

// spending is what is known of the time of a span and of those below it that count.
type spending struct {
	*Spent
	reader *Reader
	span   store.Span
	ids    []string // of those with wall samples, the span's own first
	// cpu and wall count what came, held or not.
	cpu              time.Duration
	cpuSamples, wall int64
	left, later      int // spans below it that do not count
	// looked says that there were looks at goroutines in the time of the span. For so long
	// at most nobody looked: uncovered by wall profiles that are held, unwatched besides.
	looked               bool
	uncovered, unwatched time.Duration
}

// spent answers what the time of a span went to. It is nil where the length of the span is
// not known, or nothing of it. trace has the spans of its trace.
func (r *Reader) spent(a *Profile, trace []store.Span) *Spent {
	s := a.span
	if a.Span == nil || s.Manual || s.SummaryMissing || s.Duration <= 0 || r.ranged() {
		return nil
	}
	t := &spending{Spent: &Spent{Parts: []Wait{}}, reader: r, span: s}
	t.count(trace)
	q := t.query()
	sel := r.selection(q)
	t.watch(sel)
	switch {
	case sel.Total > 0:
		t.Query = q.String()
		t.byLooks(sel, a.Span)
	case r.has(exporter.KindCPU):
		t.byCPU(a.Span)
	default:
		return nil
	}
	if len(t.Parts) == 0 {
		return nil
	}
	for _, p := range t.Parts {
		t.Ns += p.Ns
	}
	t.Of = t.words()
	t.Note = joinNotes(t.Note, t.excluded())
	return t.Spent
}

// count finds the spans below the span that count: what ended after it, as detached work
// does, took none of its time, nor did what is below that.
func (t *spending) count(trace []store.Span) {
	end := t.span.Start.Add(t.span.Duration)
	room := maxListedBytes
	add := func(s store.Span) {
		t.cpu, t.cpuSamples, t.wall = t.cpu+s.CPU, t.cpuSamples+s.CPUSamples, t.wall+s.WallSamples
		if len(t.ids) == 0 || s.WallSamples > 0 {
			t.ids = append(t.ids, s.ProfileID)
			room -= len(s.ProfileID) + 1
		}
	}
	add(t.span)
	sums.EachBelow(t.span, trace, func(s store.Span) bool {
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
}

// query selects the wall time of the spans that count, in the time of the span.
func (t *spending) query() Query {
	q := flameql.ForService(t.span.Service)
	q.Type = flameql.Wall
	q = q.WithEqual(labelkey.ProfileID, t.ids[0])
	if len(t.ids) > 1 {
		// Ids of spans are hexadecimal digits: they need no quoting.
		if m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, strings.Join(t.ids, "|")); err == nil {
			q = q.Without(labelkey.ProfileID).With(m)
		}
	}
	return t.reader.resolve(Query{Query: q, From: t.span.Start, Until: t.span.Start.Add(t.span.Duration)})
}

// watch finds for how long nobody looked at goroutines while the span ran.
func (t *spending) watch(sel *store.Samples) {
	end := t.span.Start.Add(t.span.Duration)
	covered := sums.Covered(t.reader.allWindows(), t.span.Start, end, func(w store.WindowInfo) bool {
		return w.Kind == exporter.KindWall && w.Service == t.span.Service && sums.Same(w.Earlier, t.span.Earlier)
	})
	t.looked = covered > 0 || sel.Total > 0
	t.uncovered, t.unwatched = t.span.Duration-covered, sel.Looks.Unwatched(t.span.Start, end)
}

// byLooks sums up what the looks at the goroutines have found.
func (t *spending) byLooks(sel *store.Samples, s *Span) {
	var classes [waitclass.Count]int64
	for _, sv := range sel.Stacks {
		classes[waitclass.Of(functionNames(sv.Stack))] += sv.Value
	}
	l, _ := newLooks(sel.Total, sel.Samples, sel.Looks, s, len(t.ids))
	for class, ns := range classes {
		if ns != 0 {
			t.add(waitclass.Class(class).String(), ns, l.part(ns, sel.Total))
		}
	}
	slices.SortStableFunc(t.Parts, func(a, b Wait) int { return cmp.Compare(b.Ns, a.Ns) })
	rest, unwatched := notSeen, t.uncovered+t.unwatched
	if sel.Samples < t.wall && t.reader.stats.WindowsEvicted > 0 {
		rest, unwatched = noLonger, t.unwatched
	}
	t.lacks(sel.Total, math.Sqrt(l.variance()), unwatched, rest)
	waited := float64(classes[waitclass.Running]) - float64(t.cpu)
	if off := math.Hypot(l.part(classes[waitclass.Running], sel.Total), t.cpuError()); waited > 2*off && t.span.Complete && t.span.Coverage == store.CoverageWhole {
		t.Note = joinNotes(t.Note, fmt.Sprintf("of the time running the CPU profile has %s: for the rest it was ready to run, without a CPU", termtext.Value(t.cpu.Nanoseconds(), termtext.Nanoseconds)))
	}
}

// byCPU tells the time on a CPU from the rest, whose reasons no look has found.
func (t *spending) byCPU(s *Span) {
	if t.cpu > 0 {
		t.add(onCPU, t.cpu.Nanoseconds(), t.cpuError())
	}
	rest := notOnCPU
	switch t.span.Coverage {
	case store.CoverageEvicted:
		rest = noLonger
	case store.CoveragePartial, store.CoverageNone:
		rest = nobodyLooked
	}
	t.lacks(t.cpu.Nanoseconds(), t.cpuError(), t.unwatched, rest)
	switch {
	case t.span.HasExactTimes:
		t.Note = joinNotes(t.Note, "its exact times, by an execution trace, say what it waited for")
	case !t.looked && !t.reader.has(exporter.KindWall):
		t.Note = joinNotes(t.Note, "there is no wall profile: with exporter.KindWall among the kinds of inprocess.WithKinds or profiler.WithKinds, this says what a span waits for")
	case !t.looked:
		t.Note = joinNotes(t.Note, "no wall profile covers its time: what it waited for is not known")
	case t.wall > 0:
		t.Note = joinNotes(t.Note, "its wall samples made room for newer ones: what it waited for is not known any more")
	case t.span.Complete:
		t.Note = joinNotes(t.Note, t.reader.emptyWall(s))
	}
}

// lacks adds what no sample of the span tells of, where it is more than chance: for so long
// at most nobody looked, and rest is the class of what is left. Only the samples of a
// complete span are all there.
func (t *spending) lacks(total int64, err float64, unwatched time.Duration, rest string) {
	missing := float64(t.span.Duration.Nanoseconds() - total)
	switch {
	case missing < -2*err:
		t.Goroutines = true
		t.Note = joinNotes(t.Note, "several goroutines worked for it at a time, and these are parts of the time of all")
		return
	case t.span.Running:
		t.Note = joinNotes(t.Note, "it is still running: this is what the samples so far tell")
		return
	case !t.span.Complete:
		t.Note = joinNotes(t.Note, "its last samples are not in yet")
		return
	}
	nobody := min(missing, float64(unwatched.Nanoseconds()))
	switch missing -= nobody; {
	case missing+nobody <= 2*err:
		return
	case missing <= 2*err:
		nobody, missing = nobody+missing, 0 // The rest is chance.
	case nobody <= 2*err:
		nobody, missing = 0, nobody+missing
	}
	if rest == nobodyLooked {
		nobody, missing = nobody+missing, 0
	}
	if missing > 0 {
		t.add(rest, int64(missing), err)
	}
	if nobody > 0 {
		t.add(nobodyLooked, int64(nobody), err)
	}
}

func (t *spending) add(class string, ns int64, err float64) {
	t.Parts = append(t.Parts, Wait{Class: class, Ns: ns, ErrorNs: int64(err)})
}

// cpuError returns the standard error of the CPU time, whose samples are counted.
func (t *spending) cpuError() float64 {
	if t.cpuSamples == 0 {
		return float64(goPeriod)
	}
	return float64(t.cpu) / math.Sqrt(float64(t.cpuSamples))
}

// words says what the parts are parts of.
func (t *spending) words() string {
	lasts := termtext.Value(t.span.Duration.Nanoseconds(), termtext.Nanoseconds)
	sum := termtext.Value(t.Ns, termtext.Nanoseconds)
	switch {
	case t.Goroutines:
		return sum + " of goroutine time in " + lasts
	case t.span.Running:
		return sum + " in samples, of " + lasts + " so far"
	case !t.span.Complete, sum != lasts:
		// Shares are of the sum, which chance makes longer or shorter than the span.
		return sum + " in samples, of " + lasts
	}
	return lasts
}

// excluded says which spans below it do not count.
func (t *spending) excluded() string {
	var notes [2]string
	if t.later > 0 {
		notes[0] = "not counted: " + termtext.Plural(t.later, "span") + " below it that ended later"
	}
	if t.left > 0 {
		notes[1] = "left out, as there are too many for one query: " + termtext.Plural(t.left, "span") + " below it"
	}
	return joinNotes(notes[:]...)
}

// text says the same in words.
func (s *Spent) text() string {
	if s == nil {
		return ""
	}
	parts := make([]string, len(s.Parts))
	for i, p := range s.Parts {
		parts[i] = fmt.Sprintf("%s %s%s (%s)", p.Class, termtext.Value(p.Ns, termtext.Nanoseconds), plusMinus(p.ErrorNs), termtext.Percent(p.Ns, s.Ns))
	}
	return joinNotes("of "+s.Of+": "+strings.Join(parts, ", "), s.Note)
}
