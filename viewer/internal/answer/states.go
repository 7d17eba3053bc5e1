// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/waitclass"
	"github.com/spanprof/spanprof/store"
)

// The states beside the classes of waits.
const (
	onCPU      = "on a CPU"
	ready      = "ready without a CPU"
	notOnCPU   = "not on a CPU"
	notSampled = "not sampled"
	// withheld is time on a thread by an execution trace, without CPU samples.
	withheld = "running, but the machine withheld the CPU"
)

// The sources of states.
const (
	byTrace = "execution trace"
	byWall  = "wall profile"
	byCPU   = "CPU profile"
)

// State is the time of a span in one state, as one source has it.
type State struct {
	State string `json:"state"`
	Ns    int64  `json:"ns"`
	// ErrorNs is the standard error of Ns, 0 for exact times.
	ErrorNs int64 `json:"errorNs,omitempty"`
	// Source is the source of the time, "" for time without any.
	Source string `json:"source,omitempty"`
}

// Answer is where the time of a span went. It includes the spans below it that ended no later.
type Answer struct {
	Sentence string `json:"sentence"`
	// States are the parts of the duration, the longest first. None is longer than the
	// duration, and neither is their sum.
	States []State `json:"states"`
	// Sampled has sampled values beside exact times.
	Sampled []State `json:"sampled,omitempty"`
	// Blockers are the spans in the exact waits, by state, the longest first.
	Blockers []Blocker `json:"blockers,omitempty"`
	// Allocated is about how much the span allocated by exact times, in words.
	Allocated string `json:"allocated,omitempty"`
	// Few names the states of samples that are too few to divide the duration.
	Few string `json:"few,omitempty"`
	// Note has what limits the parts, in words.
	Note string `json:"note,omitempty"`
	// Query selects the wall time in the parts, if it was sampled.
	Query string `json:"query,omitempty"`
}

// fewSamples is the number of samples below which they divide nothing.
const fewSamples = 5

// measured is the input of an answer: States is an open list, with an entry for each state and
// source.
type measured struct {
	Duration int64
	States   []State
	// Samples is the number of samples by source. Exact sources have none.
	Samples map[string]int64
	// Complete is set if every sample of the span has arrived. Then the rest of the
	// duration has the state Rest.
	Complete bool
	Rest     string
	// Waited is set if CPU was profiled all the time: running without CPU time is then the
	// wait for a CPU.
	Waited bool
}

// divide returns an answer with the states of the best source.
func (m measured) divide() *Answer {
	a := &Answer{States: []State{}}
	by := func(source string) (list []State) {
		for _, s := range m.States {
			if s.Source == source && s.Ns > 0 {
				list = append(list, s)
			}
		}
		return list
	}
	var bar []State
	exact, wall, cpu := by(byTrace), by(byWall), by(byCPU)
	switch {
	case len(exact) > 0:
		bar = m.withWithheld(exact, cpu)
		if m.Samples[byWall] >= fewSamples {
			a.Sampled = wall
		}
		a.Sampled = append(a.Sampled, cpu...)
	case m.Samples[byWall] >= fewSamples:
		bar = withReady(wall, cpu, m.Waited)
	case len(wall) > 0:
		a.Few = few(m.Samples[byWall], wall)
		bar = cpu
	default:
		bar = cpu
	}
	if n := m.Samples[byCPU]; len(bar) > 0 && bar[0].Source == byCPU && n < fewSamples {
		a.Few = cmp.Or(a.Few, few(n, bar))
		bar = nil
	}
	if a.Few != "" && len(bar) == 0 {
		return a
	}
	var sum int64
	var variance float64
	for _, s := range bar {
		sum += s.Ns
		variance += float64(s.ErrorNs) * float64(s.ErrorNs)
	}
	if off := 2 * math.Sqrt(variance); float64(sum-m.Duration) > off && sum > m.Duration {
		a.Note = "several goroutines worked for it at a time, " + nanoseconds(sum) + " together: these are their shares of its duration"
	}
	if sum > m.Duration {
		// Chance, or several goroutines, made the sum longer than the span. CPU time is counted
		// best: the waits share the rest.
		fixed := int64(0)
		for _, s := range bar {
			if s.State == onCPU && s.Source == byCPU && s.Ns < m.Duration {
				fixed = s.Ns
			}
		}
		for i, s := range bar {
			if s.Ns != fixed || s.State != onCPU {
				bar[i].Ns = int64(float64(s.Ns) / float64(sum-fixed) * float64(m.Duration-fixed))
				bar[i].ErrorNs = min(s.ErrorNs, bar[i].Ns)
			}
		}
	} else if rest := m.Duration - sum; m.Complete && float64(rest) > 2*math.Sqrt(variance) && rest*200 > m.Duration {
		bar = append(bar, State{State: m.Rest, Ns: rest})
	}
	slices.SortStableFunc(bar, func(x, y State) int { return cmp.Compare(y.Ns, x.Ns) })
	a.States = append(a.States, bar...)
	return a
}

// withWithheld divides the exact time on a thread: CPU samples of the same time may be fewer
// than chance explains. Samples are a period of CPU time apart.
func (m measured) withWithheld(exact, cpu []State) []State {
	period, used := goPeriod.Nanoseconds(), int64(0)
	if len(cpu) > 0 {
		used = cpu[0].Ns
		period = used / max(1, m.Samples[byCPU])
	}
	list := slices.Clone(exact)
	for i, s := range exact {
		more, chance := s.Ns-used, math.Sqrt(float64(period)*float64(max(s.Ns, period)))
		if s.State != onCPU || !m.Waited || float64(more) < 2*chance {
			continue
		}
		list[i].Ns, list[i].ErrorNs = used, int64(chance)
		list = append(list, State{withheld, more, int64(chance), byTrace})
	}
	return slices.DeleteFunc(list, func(s State) bool { return s.Ns == 0 })
}

func few(n int64, list []State) string {
	var names []string
	for _, s := range list {
		names = append(names, s.State)
	}
	return fmt.Sprintf("%s: %s: too few to divide", termtext.Plural(int(n), "sample"), strings.Join(names, ", "))
}

// withReady puts the CPU time in the place of the time running of a wall profile. The rest of that,
// beyond chance, is the wait for a CPU.
func withReady(wall, cpu []State, waited bool) []State {
	if !waited || len(cpu) == 0 {
		cpu = []State{{}}
	}
	var list []State
	var running State
	for _, s := range wall {
		if s.State == waitclass.Running.String() {
			running = s
			continue
		}
		list = append(list, s)
	}
	wait := running.Ns - cpu[0].Ns
	switch {
	case waited && float64(wait) > 2*math.Hypot(float64(running.ErrorNs), float64(cpu[0].ErrorNs)):
		list = append(list, State{ready, wait, running.ErrorNs, byWall}, cpu[0])
	case cpu[0].Ns > 0:
		list = append(list, cpu[0])
	default:
		running.State = onCPU
		list = append(list, running)
	}
	return slices.DeleteFunc(list, func(s State) bool { return s.Ns == 0 })
}

type others struct {
	spans         int
	duration, cpu int64 // at the median
}

// sentence returns the answer in words. top is the function with most CPU time, with its share.
func (a *Answer) sentence(duration int64, running bool, top string, o others) string {
	var parts []string
	add := func(s State) {
		words := map[string]string{ready: "ready but without a CPU"}
		text := nanoseconds(s.Ns) + " " + cmp.Or(words[s.State], s.State)
		if s.Ns == duration && s.State == notSampled {
			text = notSampled
		}
		if s.State == onCPU && top != "" {
			text += " (" + top + ")"
		}
		parts = append(parts, text)
	}
	var sum int64
	for _, s := range a.States {
		sum += s.Ns
		if s.State == onCPU {
			add(s)
		}
	}
	for _, s := range a.States {
		if s.State != onCPU && s.Ns*100 >= sum && len(parts) < 5 {
			add(s)
		}
	}
	if a.Few != "" {
		parts = append(parts, a.Few)
	}
	if len(parts) == 0 {
		parts = []string{notSampled}
	}
	text := nanoseconds(duration)
	if running {
		text += " so far"
	}
	text += ": " + strings.Join(parts, ", ") + "."
	if o.spans == 0 {
		return text
	}
	text += " Others of this name: " + nanoseconds(o.duration) + " at the median"
	if reason := a.difference(duration, o); reason != "" {
		text += "; the difference is " + reason
	}
	return text + "."
}

// difference names the state with at least half of the time beyond the median, "" for none.
func (a *Answer) difference(duration int64, o others) string {
	more := duration - o.duration
	if 2*duration < 3*o.duration || more <= 0 {
		return ""
	}
	for _, s := range a.States {
		// The other spans waited for the rest of their duration at most.
		typical := max(0, o.duration-o.cpu)
		if s.State == onCPU {
			typical = o.cpu
		}
		if s.State == notSampled || 2*(s.Ns-typical) < more {
			continue
		}
		words := map[string]string{onCPU: "time on a CPU", ready: "the wait for a CPU", notOnCPU: "time without a CPU"}
		return cmp.Or(words[s.State], s.State)
	}
	return ""
}

// answerOf returns where the time of the span of a went, nil if its duration is unknown.
// trace has the spans of its trace.
func (r *Reader) answerOf(a *Profile, trace []store.Span) *Answer {
	s := a.span
	if a.Span == nil || s.Manual || s.SummaryMissing || s.Duration <= 0 || r.ranged() {
		return nil
	}
	if s.SamplesHeld == 0 && s.CPUSamples == 0 && s.WallSamples == 0 && !s.HasExactTimes {
		if mistake := r.mistake(""); mistake != "" {
			// No state is known: the samples of the span may be there, without its labels.
			return &Answer{States: []State{}, Sentence: nanoseconds(s.Duration.Nanoseconds()) + ": no sample has the labels of this span" + mistake + "."}
		}
	}
	t := newFamily(r, s, trace)
	m := measured{Duration: s.Duration.Nanoseconds(), Complete: s.Complete && !s.Running, Rest: notSampled, Samples: map[string]int64{}}
	t.measure(&m, a.Span.ExactTimes)
	answer := m.divide()
	if len(t.wall.Stacks) > 0 {
		answer.Query = t.query.String()
	}
	if t.exact != nil {
		answer.Blockers, answer.Allocated = t.exact.blockers(), r.allocated(&s, t.exact)
	}
	answer.Note = joinNotes(answer.Note, t.note(a.Span))
	answer.Sentence = answer.sentence(m.Duration, s.Running, t.top(), r.others(s))
	return answer
}

func (a *Answer) text() []string {
	if a == nil {
		return nil
	}
	lines := []string{a.Sentence}
	if len(a.Sampled) > 0 {
		var parts []string
		for _, s := range a.Sampled {
			parts = append(parts, fmt.Sprintf("%s %s%s", s.State, nanoseconds(s.Ns), plusMinus(s.ErrorNs)))
		}
		lines = append(lines, "sampled: "+strings.Join(parts, ", "))
	}
	if a.Note != "" {
		lines = append(lines, a.Note)
	}
	return lines
}

const tableStates = 7

// table returns the states of exact times for a terminal, with the spans that were waited for.
func (a *Answer) table() (rows []string) {
	if a == nil || !slices.ContainsFunc(a.States, func(s State) bool { return s.Source == byTrace }) {
		return nil
	}
	shown, other := min(len(a.States), tableStates), int64(0)
	for _, s := range a.States[shown:] {
		other += s.Ns
	}
	for _, s := range a.States[:shown] {
		rows = append(rows, fmt.Sprintf("%9s  %s%s", nanoseconds(s.Ns), s.State, plusMinus(s.ErrorNs)))
		for _, b := range a.Blockers {
			if b.State == s.State {
				rows = append(rows, fmt.Sprintf("%9s    by span %q %s", nanoseconds(b.Ns), b.Span, b.SpanID))
			}
		}
	}
	if other > 0 {
		rows = append(rows, fmt.Sprintf("%9s  other", nanoseconds(other)))
	}
	if a.Allocated != "" {
		rows = append(rows, a.Allocated)
	}
	return rows
}
