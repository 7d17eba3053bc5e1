// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// Keys of labels that only exact waits have. Their span has those of package labelkey.
const (
	waitState       = "state"
	waitChild       = "child_span_name"
	waitEndedAt     = "ended_at"
	waitEndedBySpan = "ended_by_span_name"
	waitEndedByID   = "ended_by_span_id"
	waitGoroutine   = "goroutine"
)

// unknownStack is the only frame of a wait whose stack the trace does not tell: tools would
// leave a sample without frames out of their sums.
const unknownStack = "(unknown stack)"

// WaitsPprof answers the exact waits of the span that q selects, or of the spans of its name
// that ExactName sums up: a sample for each wait, with how often and for how long.
func (r *Reader) WaitsPprof(q Query) (*Pprof, error) {
	q = r.resolve(q)
	if root, _, ok := r.localRoot(q); ok {
		q = root
	}
	w := newWaitProfile()
	if id, single := q.SpanID(); single {
		if s, known := r.span(id); known && q.selects(&s) {
			if x := r.exactTimesOf(&s); x != nil && len(x.Goroutines) > 0 {
				w.add(&s, x)
			}
		}
	} else {
		for s, x := range r.exactTimesOfName(q) {
			w.add(s, x)
		}
	}
	if r.err == nil && w.spans == 0 {
		return nil, BadRequestf("no exact times of %s are held: package exectrace gives them to slow spans; ask for a span by profile_id or span_id, or for all of a name by span_name alone", q)
	}
	w.finish()
	return answered(r, &Pprof{FileName: fileName(q.Query, "waits"), profile: w.profile})
}

// selects says whether a span meets all conditions of q, of which exact times know those on
// its ids, name and service.
func (q Query) selects(s *store.Span) bool {
	of := map[string]string{
		labelkey.ProfileID: s.ProfileID, labelkey.SpanID: s.ProfileID, labelkey.TraceID: s.TraceID,
		labelkey.SpanName: s.Name, "service_name": s.Service,
	}
	return !slices.ContainsFunc(q.Matchers, func(m store.Matcher) bool {
		value, known := of[m.Label()]
		return !known || !m.Matches(value)
	})
}

// waitProfile is a profile of exact waits.
type waitProfile struct {
	profile    *profile.Profile
	spans      int
	start, end int64 // of the spans, in unix nanoseconds
	omitted    int   // waits that their spans do not list
	functions  map[exactFrame]*profile.Function
	locations  map[exactFrame]*profile.Location
}

func newWaitProfile() *waitProfile {
	return &waitProfile{
		profile: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "count", Unit: "count"}, {Type: "wait", Unit: "nanoseconds"}},
			DefaultSampleType: "wait",
		},
		functions: map[exactFrame]*profile.Function{}, locations: map[exactFrame]*profile.Location{},
	}
}

// add adds the waits of a span.
func (p *waitProfile) add(s *store.Span, x *exactTimes) {
	start := x.Start.UnixNano()
	if p.spans++; p.spans == 1 || start < p.start {
		p.start = start
	}
	p.end = max(p.end, start+x.DurationNs)
	p.omitted += x.WaitsOmitted
	for i := range x.Waits {
		w := &x.Waits[i]
		labels := map[string][]string{}
		set := func(key, value string) {
			if value != "" {
				labels[key] = []string{value}
			}
		}
		set(labelkey.ProfileID, s.ProfileID)
		set(labelkey.SpanID, s.ProfileID)
		set(labelkey.TraceID, s.TraceID)
		set(labelkey.SpanName, s.Name)
		set(waitState, w.State)
		set(waitChild, w.Child)
		if len(w.Ended) > 0 {
			set(waitEndedAt, exactPlace(w.Ended))
		}
		if len(w.Blockers) > 0 {
			set(waitEndedBySpan, w.Blockers[0].Span)
			set(waitEndedByID, w.Blockers[0].SpanID)
		}
		p.profile.Sample = append(p.profile.Sample, &profile.Sample{
			Location: p.stack(w.Stack), Value: []int64{int64(w.Count), w.DurationNs},
			Label: labels, NumLabel: map[string][]int64{waitGoroutine: {w.Goroutine}},
		})
	}
}

func (p *waitProfile) stack(frames []exactFrame) (stack []*profile.Location) {
	if len(frames) == 0 {
		frames = []exactFrame{{Func: unknownStack}}
	}
	for _, f := range frames {
		l := p.locations[f]
		if l == nil {
			l = &profile.Location{ID: uint64(len(p.profile.Location) + 1), Line: []profile.Line{{Function: p.function(f), Line: int64(f.Line)}}}
			p.locations[f] = l
			p.profile.Location = append(p.profile.Location, l)
		}
		stack = append(stack, l)
	}
	return stack
}

func (p *waitProfile) function(f exactFrame) *profile.Function {
	f.Line = 0
	fn := p.functions[f]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(p.profile.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
		p.functions[f] = fn
		p.profile.Function = append(p.profile.Function, fn)
	}
	return fn
}

// finish says what the profile is of.
func (p *waitProfile) finish() {
	p.profile.TimeNanos, p.profile.DurationNanos = p.start, p.end-p.start
	if p.omitted > 0 {
		p.profile.Comments = []string{fmt.Sprintf("%d shorter waits are left out: the spans list their longest ones", p.omitted)}
	}
}
