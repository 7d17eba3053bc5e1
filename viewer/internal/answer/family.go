// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/waitclass"
	"github.com/spanprof/spanprof/store"
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
	exact  *exactTimes // nil if absent
	// cpu, cpuSamples and wallSamples count every sample, held or evicted.
	cpu                     time.Duration
	cpuSamples, wallSamples int64
	left, later             int // spans below it that do not count
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
	eachBelow(s, trace, func(s store.Span) bool {
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
	return t
}

// of returns the query for the samples of the family in the time of the span.
func (t *family) of(typ flameql.Type) Query {
	q := withIDs(flameql.ForService(t.span.Service).OfType(typ), t.ids)
	return t.reader.resolve(Query{Query: q, From: t.span.Start, Until: t.span.Start.Add(t.span.Duration)})
}

// measure adds the states of each source.
func (t *family) measure(m *measured, exact json.RawMessage) {
	if x := parseExact(exact); x != nil && len(x.Goroutines) > 0 {
		t.exact = x
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
	for class, ns := range classes {
		if ns > 0 {
			m.States = append(m.States, State{waitclass.Class(class).String(), ns, wallError(ns, t.wall, &t.span, len(t.ids)), byWall})
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
	var limit, later, left string
	sampled := t.wall.Total > 0
	switch {
	case t.span.HasExactTimes:
	case t.span.Running:
		limit = "it is still running: these are the samples so far"
	case !t.span.Complete:
		limit = "its last samples are not in yet"
	case sampled && t.wall.Samples < t.wallSamples && t.reader.info.Stats.WindowsEvicted > 0, !sampled && t.wallSamples > 0:
		limit = "some of its wall samples were evicted"
	case sampled:
	case t.reader.has(exporter.KindWall):
		limit = noneHit(exporter.KindWall, s)
	case t.reader.has(exporter.KindCPU):
		limit = "there is no wall profile: with exporter.KindWall among the kinds of profiler.WithKinds, the waits of a span are sampled"
	}
	if t.later > 0 {
		later = "not counted: " + termtext.Plural(t.later, "span") + " below it that ended later"
	}
	if t.left > 0 {
		left = "left out, because one query has room for no more: " + termtext.Plural(t.left, "span") + " below it"
	}
	return joinNotes(limit, later, left)
}

// wallError returns the standard error of a part of a wall time, in ns. Each of n looks at the
// goroutines counts the time d since the one before. Which looks find what is a matter of chance,
// as with n draws. The first and the last look are off by up to d: two such ends have a variance of
// about d²/4, if the profile does not have the intervals. A span that a single look found may have
// been much shorter. If a look finds several goroutines of a span, they have the same error. The
// ends of several spans are independent.
func wallError(part int64, wall *store.Samples, span *store.Span, ids int) int64 {
	if wall.Total <= 0 {
		return 0
	}
	single := span != nil && ids <= 1 && !span.Manual && !span.SummaryMissing && span.Duration > 0
	n, at := float64(max(1, wall.Samples)), 1.0
	d, share := float64(wall.Total)/n, float64(part)/float64(wall.Total)
	each, once, ends := d*d, d*d, d*d/4
	if of := wall.Looks; of.Known() {
		// A look next to the end of a window counts for two intervals, or more.
		each, once = max(each, of.Mean()), of.Single()
		if single {
			ends = of.Ends(span.Start, span.Start.Add(span.Duration))
			once = max(once, ends)
		}
	}
	variance := each * n
	if single {
		at = max(1, float64(wall.Total)/float64(span.Duration))
		variance = ends * at * at
		if n < 2*at {
			variance = once * at * at
		}
	}
	return int64(math.Sqrt(each*at*n*share*(1-share) + share*share*variance))
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

func plusMinus(ns int64) string {
	if ns == 0 {
		return ""
	}
	return " ± " + nanoseconds(ns)
}

// others returns the median of the other spans of the name that are held.
func (r *Reader) others(s store.Span) (o others) {
	if s.Name == "" {
		return o
	}
	var durations, cpus []time.Duration
	for _, other := range r.spans(store.SpanQuery{Name: s.Name, Service: s.Service, Limit: maxOthers, Brief: true}) {
		if other.ProfileID != s.ProfileID && !other.Manual && !other.SummaryMissing {
			durations, cpus = append(durations, other.Duration), append(cpus, other.CPU)
		}
	}
	if len(durations) > 0 {
		o = others{len(durations), timesOf(durations).P50.Nanoseconds(), timesOf(cpus).P50.Nanoseconds()}
	}
	return o
}

const maxOthers = 1000

// top returns the function with most CPU time of its own, with its share; "" without samples.
func (t *family) top() string {
	sel := t.reader.selection(t.of(t.reader.cpuType()))
	if sel.Samples < fewSamples {
		return ""
	}
	functions := t.reader.summary(sel, flame.NewFunctions(false)).Functions()
	if len(functions) == 0 {
		return ""
	}
	f := functions[0]
	return fmt.Sprintf("%.0f %% %s", 100*float64(f.Self)/float64(sel.Total), termtext.Clip(termtext.OneLine(shortName(f.Name)), termtext.MaxQuoted))
}

// shortName returns the name of a function without the directory of its package.
func shortName(name string) string {
	end := len(name)
	if cut := strings.IndexAny(name, "[({ "); cut >= 0 {
		end = cut
	}
	return name[strings.LastIndexByte(name[:end], '/')+1:]
}
