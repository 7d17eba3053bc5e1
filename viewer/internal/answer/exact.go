// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// mostExactSpans bounds the spans of a name in the pprof of waits, which are found among
	// mostExactSought.
	mostExactSpans  = 100
	mostExactSought = 5000
	mostBlockers    = 5
	// leastAllocated is the number of bytes below which the estimate for one span is too rough.
	// mostAllocating bounds the spans in the sum of a name.
	leastAllocated = 100_000
	mostAllocating = 20
)

// exactTimes is what answers need of exectrace.Span.
type exactTimes struct {
	Start          time.Time `json:"start"`
	DurationNs     int64     `json:"durationNs"`
	AllocatedBytes int64     `json:"allocatedBytes"`
	Goroutines     []struct {
		ID     int64        `json:"id"`
		States []exactState `json:"states"`
	} `json:"goroutines"`
	Waits []struct {
		exactState
		Count     int          `json:"count"`
		Goroutine int64        `json:"goroutine"`
		Child     string       `json:"child"`
		Stack     []exactFrame `json:"stack"`
		Blockers  []struct {
			Span   string `json:"span"`
			SpanID string `json:"spanId"`
			Same   bool   `json:"same"`
			Ns     int64  `json:"durationNs"`
		} `json:"blockers"`
	} `json:"waits"`
	WaitsOmitted int `json:"waitsOmitted"`
}

type exactState struct {
	State      string `json:"state"`
	DurationNs int64  `json:"durationNs"`
}

type exactFrame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// exactJSON returns the exact times of a span, nil if there are none.
func (r *Reader) exactJSON(id string) json.RawMessage {
	found := r.spans(store.SpanQuery{ID: id, Exact: true, Brief: true})
	if len(found) == 0 {
		return nil
	}
	return found[0].ExactTimes
}

// parseExact returns parsed exact times, nil for none.
func parseExact(data json.RawMessage) *exactTimes {
	var x exactTimes
	if json.Unmarshal(data, &x) != nil {
		return nil
	}
	return &x
}

// Blocker is a name of spans that a span waited for, by an execution trace.
type Blocker struct {
	State string `json:"state"`
	Span  string `json:"span"`
	// SpanID is the span of the longest wait.
	SpanID string `json:"spanId,omitempty"`
	Ns     int64  `json:"ns"`
}

// blockers returns what the first goroutine waited for, the longest first.
func (x *exactTimes) blockers() (list []Blocker) {
	for i := range x.Waits {
		w := &x.Waits[i]
		if w.Goroutine != x.Goroutines[0].ID {
			continue
		}
		for _, by := range w.Blockers {
			if by.Span == "" || by.Same {
				continue
			}
			n := slices.IndexFunc(list, func(b Blocker) bool { return b.State == w.State && b.Span == by.Span })
			if n < 0 {
				n, list = len(list), append(list, Blocker{w.State, by.Span, by.SpanID, 0})
			}
			list[n].Ns += by.Ns
		}
	}
	slices.SortStableFunc(list, func(a, b Blocker) int { return cmp.Compare(b.Ns, a.Ns) })
	return list[:min(len(list), mostBlockers)]
}

// allocated returns in words about how much a span allocated. Errors balance in the sum of a
// name.
func (r *Reader) allocated(s *store.Span, x *exactTimes) string {
	bytes, spans := x.AllocatedBytes, 1
	if bytes < leastAllocated {
		bytes, spans = 0, 0
		others := r.exactOf(store.SpanQuery{Name: s.Name, Service: s.Service, Order: store.Slowest, Limit: mostExactSought, Brief: true})
		for i := range others[:min(len(others), mostAllocating)] {
			if x := parseExact(r.exactJSON(others[i].ProfileID)); x != nil {
				bytes, spans = bytes+x.AllocatedBytes, spans+1
			}
		}
	}
	switch {
	case bytes < leastAllocated:
		return ""
	case spans > 1:
		return fmt.Sprintf("about %s allocated by %d spans of this name", termtext.Value(bytes, termtext.Bytes), spans)
	}
	return "about " + termtext.Value(bytes, termtext.Bytes) + " allocated"
}

func nanoseconds(n int64) string { return termtext.Value(n, termtext.Nanoseconds) }

func duration(d time.Duration) string { return nanoseconds(d.Nanoseconds()) }

// unknownStack is the only frame of a wait without a stack. Tools would leave a sample without
// frames out of their sums.
const unknownStack = "(unknown stack)"

// WaitsPprof answers the exact waits of the span that q selects, or of the slowest spans of its
// name: a sample for each wait, with how often and for how long.
func (r *Reader) WaitsPprof(q Query) (*Pprof, error) {
	q = r.resolve(q)
	w := waitProfile{profile: &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "count", Unit: "count"}, {Type: "wait", Unit: "nanoseconds"}},
		DefaultSampleType: "wait",
	}, locations: map[exactFrame]*profile.Location{}}
	spans := r.exactSpans(q)
	for i := range spans {
		if x := parseExact(r.exactJSON(spans[i].ProfileID)); x != nil {
			w.add(&spans[i], x)
		}
	}
	if r.err == nil && w.spans == 0 {
		return nil, BadRequestf("no exact times of %s are held: package exectrace gives them to slow spans; ask for a span by profile_id or span_id, or for all of a name by span_name alone", q)
	}
	w.profile.TimeNanos, w.profile.DurationNanos = w.start, w.end-w.start
	if w.omitted > 0 {
		w.profile.Comments = []string{fmt.Sprintf("%d shorter waits are left out: the spans list their longest ones", w.omitted)}
	}
	return answered(r, &Pprof{FileName: fileName(q.Query, "waits"), Profile: w.profile})
}

// exactSpans returns the span of q, or the slowest spans of its name, with exact times.
func (r *Reader) exactSpans(q Query) (exact []store.Span) {
	asked := store.SpanQuery{From: q.From, Until: q.Until, Order: store.Slowest, Limit: mostExactSought, Brief: true}
	asked.Name, _ = q.Value(labelkey.SpanName)
	asked.TraceID, _ = q.Value(labelkey.TraceID)
	asked.Service, _ = q.Value("service_name")
	asked.Service = cmp.Or(q.service, asked.Service)
	if id, single := q.SpanID(); single {
		asked = store.SpanQuery{ID: id, Brief: true}
	} else if asked.Name == "" {
		return nil
	}
	if len(q.Without(labelkey.ProfileID, labelkey.SpanID, labelkey.TraceID, labelkey.SpanName, "service_name").Matchers) > 0 {
		return nil // Exact times have no other labels.
	}
	return r.exactOf(asked)
}

// exactOf returns the first spans of a list with exact times.
func (r *Reader) exactOf(asked store.SpanQuery) (exact []store.Span) {
	spans := r.spans(asked)
	for i := range spans {
		if len(exact) < mostExactSpans && spans[i].HasExactTimes {
			exact = append(exact, spans[i])
		}
	}
	return exact
}

type waitProfile struct {
	profile    *profile.Profile
	spans      int
	start, end int64 // of the spans, in unix nanoseconds
	omitted    int   // waits that their spans do not list
	locations  map[exactFrame]*profile.Location
}

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
		set("state", w.State)
		set("child_span_name", w.Child)
		if len(w.Blockers) > 0 {
			set("ended_by_span_name", w.Blockers[0].Span)
			set("ended_by_span_id", w.Blockers[0].SpanID)
		}
		p.profile.Sample = append(p.profile.Sample, &profile.Sample{
			Location: p.stack(w.Stack), Value: []int64{int64(w.Count), w.DurationNs},
			Label: labels, NumLabel: map[string][]int64{"goroutine": {w.Goroutine}},
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
			id := uint64(len(p.locations) + 1)
			fn := &profile.Function{ID: id, Name: f.Func, SystemName: f.Func, Filename: f.File}
			l = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
			p.locations[f] = l
			p.profile.Function, p.profile.Location = append(p.profile.Function, fn), append(p.profile.Location, l)
		}
		stack = append(stack, l)
	}
	return stack
}
