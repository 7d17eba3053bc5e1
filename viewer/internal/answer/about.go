// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/waitclass"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/tail"
)

// About is the answer about the spans of a name: where their time goes, and why the slow ones
// are slow.
type About struct {
	Name     string `json:"name"`
	Sentence string `json:"sentence"`
	// Parts are shares of the wall time of all spans of the name, the largest first, at most 4.
	Parts []Part `json:"parts,omitempty"`
	// Tail compares the slow spans with the median ones.
	Tail *tail.Result `json:"tail"`
	// Kinds are the profiles of the name.
	Kinds []Kind `json:"kinds"`
	// Slowest are the slowest spans that are held, at most 5.
	Slowest []Span `json:"slowest"`
	Note    string `json:"note,omitempty"`

	functions []flame.Function
	cpu       *store.Samples
}

// Part is a share of time in a state, and the function that is in it.
type Part struct {
	Part  string  `json:"part"`
	Share float64 `json:"share"` // of 1
}

const (
	aboutParts     = 4
	aboutSpans     = 5
	aboutFunctions = 8
	// sampledSpans bounds the spans that the sides of a comparison are chosen of.
	sampledSpans = 10_000
)

// About answers the spans of a name that q selects.
func (r *Reader) About(q store.SpanQuery) (*About, error) {
	if q.Name == "" {
		return nil, BadRequestf("name is missing: give the name of some spans")
	}
	q.Order, q.Requests, q.Running, q.Limit = store.Newest, false, false, sampledSpans
	held, note := r.named(q)
	ql, others := r.listedWork(q)
	all := r.resolve(Query{Query: ql, From: q.From, Until: q.Until})
	a := &About{Name: q.Name, Kinds: r.kinds(all), cpu: r.selection(all)}
	a.functions = slices.DeleteFunc(r.summary(a.cpu, flame.NewFunctions(false)).Functions(), func(f flame.Function) bool { return f.Self == 0 })
	a.Parts = r.shares(Query{Query: ql.OfType(flameql.Wall), From: q.From, Until: q.Until}, a.cpu)
	a.Sentence = r.spread(q, held)
	a.Tail = r.tail(held)
	slices.SortStableFunc(held, func(a, b store.Span) int { return cmp.Compare(b.Duration, a.Duration) })
	a.Slowest = r.newSpans(held[:min(aboutSpans, len(held))])
	if others != "" {
		others = "the functions are of all spans of this name, " + others
	}
	a.Note = r.notes(note, others)
	return answered(r, a)
}

func (r *Reader) spread(q store.SpanQuery, held []store.Span) string {
	name := termtext.Clip(q.Name, termtext.MaxQuoted)
	var durations []time.Duration
	var cpu time.Duration
	for i := range held {
		cpu += held[i].CPU
		if !held[i].Manual {
			durations = append(durations, held[i].Duration)
		}
	}
	for _, of := range nameSpreads(held) { // by service
		cpu += of.Below
	}
	d := timesOf(durations)
	if d == nil {
		return name + ": no span that is held meets the conditions."
	}
	count := termtext.Plural(len(held), "span")
	if _, all := r.labelOf(store.Span{Name: q.Name, Service: q.Service}); all > len(held) {
		count = fmt.Sprintf("%d of %s", len(held), termtext.Plural(all, "span"))
	}
	if len(held) == sampledSpans {
		count = "the newest " + count
	}
	return fmt.Sprintf("%s: %s, %s at the median, %s at p95, %s at most; %s of CPU each.", name, count,
		duration(d.P50), duration(d.P95), duration(d.Max), duration(cpu/time.Duration(len(held))))
}

func (r *Reader) tail(held []store.Span) *tail.Result {
	byID := make(map[string]store.Span, len(held))
	var spans []tail.Span
	for _, s := range held {
		if s.Complete && !s.SummaryMissing && !s.Manual {
			byID[s.ProfileID] = s
			spans = append(spans, tail.Span{ID: s.ProfileID, Duration: s.Duration})
		}
	}
	return tail.Compare(spans, func(of *tail.Span) {
		s := byID[of.ID]
		of.Parts, of.Attributes = r.parts(s), make(map[string]string)
		for _, a := range s.Attributes {
			if a.Child == "" {
				of.Attributes[a.Key] = a.Value
			}
		}
	})
}

// parts returns the time of a span and the spans below it by state.
func (r *Reader) parts(s store.Span) map[string]float64 {
	t := newFamily(r, s, r.trace(s))
	cpu := r.selection(t.of(r.cpuType()))
	parts := partsOf(t.wall, cpu)
	if !r.has(exporter.KindWall) {
		parts[notOnCPU] = max(0, float64(s.Duration)-float64(cpu.Total))
	}
	return parts
}

// shares returns the largest parts of the wall time that q selects, if it has enough samples.
func (r *Reader) shares(q Query, cpu *store.Samples) (list []Part) {
	wall := r.selection(r.resolve(q))
	if wall.Samples < fewSamples {
		return nil
	}
	parts, sum := partsOf(wall, cpu), 0.0
	for _, ns := range parts {
		sum += ns
	}
	for part, ns := range parts {
		if ns >= sum/100 {
			list = append(list, Part{part, ns / sum})
		}
	}
	slices.SortFunc(list, func(x, y Part) int { return cmp.Or(cmp.Compare(y.Share, x.Share), strings.Compare(x.Part, y.Part)) })
	return list[:min(aboutParts, len(list))]
}

// partsOf divides wall time: waits with the function that waits, CPU time with the function that
// runs. Time running without CPU samples is a wait for a CPU.
func partsOf(wall, cpu *store.Samples) map[string]float64 {
	parts, rest := make(map[string]float64), float64(-cpu.Total)
	for _, sv := range wall.Stacks {
		class := waitclass.Of(functionNames(sv.Stack))
		if class == waitclass.Running {
			rest += float64(sv.Value)
			continue
		}
		parts[class.String()+at(sv.Stack)] += float64(sv.Value)
	}
	for _, sv := range cpu.Stacks {
		parts[onCPU+at(sv.Stack)] += float64(sv.Value)
	}
	if rest > 0 {
		parts[ready] = rest
	}
	return parts
}

// at names the innermost function outside of the runtime and the packages that only wait.
func at(stack []*profile.Location) string {
	for name := range functionNames(stack) {
		if !slices.ContainsFunc([]string{"runtime.", "sync.", "internal/", "syscall.", "time.Sleep"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return " in " + shortName(name)
		}
	}
	return ""
}

// inAddress writes a text as the value of a parameter, for a shell in quotes, curl and a browser.
func inAddress(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/=", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Text returns the answer for a terminal, in at most 40 lines.
func (a *About) Text() string {
	var b strings.Builder
	termtext.Prose(&b, "", 0, a.Sentence)
	var parts []string
	for _, p := range a.Parts {
		parts = append(parts, fmt.Sprintf("%.0f %% %s", 100*p.Share, termtext.Clip(p.Part, termtext.MaxQuoted)))
	}
	if len(parts) > 0 {
		termtext.Prose(&b, "", 0, "Their wall time: "+strings.Join(parts, ", ")+".")
	}
	termtext.Prose(&b, "", 0, a.Tail.Sentence)
	writeNote(&b, a.Note)
	for _, d := range a.Tail.Differences[:min(6, len(a.Tail.Differences))] {
		fmt.Fprintf(&b, "%10s%s  %s\n", nanoseconds(d.Ns), plusMinus(d.ErrorNs), termtext.Clip(termtext.OneLine(d.Part), termtext.MaxQuoted))
	}
	if len(a.functions) > 0 {
		fmt.Fprintf(&b, "\nCPU, %s:\n", termtext.Plural(a.cpu.Samples, "sample"))
		for _, f := range a.functions[:min(aboutFunctions, len(a.functions))] {
			fmt.Fprintf(&b, "%10s %7s  %s\n", termtext.Value(f.Self, a.cpu.Unit), termtext.Percent(f.Self, a.cpu.Total), marked(f.Type, f.Name, termtext.Columns-20))
		}
	}
	if len(a.Slowest) > 0 {
		b.WriteString("\nthe slowest:\n")
		for _, s := range a.Slowest {
			fmt.Fprintf(&b, "%10s  cpu %s  ?format=text&query=%s%s\n", s.wall(), duration(s.CPUInclusive), inAddress(s.Query), s.marks())
		}
	}
	b.WriteString("\nnext:\n")
	for _, k := range a.Kinds {
		if k.Samples > 0 {
			fmt.Fprintf(&b, "  ?format=text&query=%s  %s\n", inAddress(k.Query), k.Measure)
		}
	}
	fmt.Fprintf(&b, "  ?format=text&order=slowest&name=%s  the list\n", inAddress(a.Name))
	return b.String()
}
