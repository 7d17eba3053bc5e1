// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// mostExactSpans and mostExactBytes bound what is summed up of a name, mostExactSought the
	// spans among which it is looked for.
	mostExactSpans  = 200
	mostExactBytes  = 8 << 20
	mostExactSought = 5000
	mostBlockedBy   = 20
)

// ExactName sums up the exact times of spans of a name: the slowest that have any.
type ExactName struct {
	Name       string       `json:"name"`
	Spans      int          `json:"spans"`
	DurationNs int64        `json:"durationNs"`
	States     []exactState `json:"states"` // of the goroutines that they began on, the longest first
	// Blocked is the time that these waited for other spans, the longest first.
	Blocked []ExactBlocked `json:"blocked,omitempty"`
}

// ExactBlocked is time that spans waited for spans of a name, which ended the waits.
type ExactBlocked struct {
	State      string `json:"state"`
	Span       string `json:"span"`
	DurationNs int64  `json:"durationNs"`
	Count      int    `json:"count"`
	// Query selects the spans that were waited for.
	Query string `json:"query"`
}

// exactService returns the service of the spans that q selects, "" for all. ok is set if q has no
// other conditions than a name and a time.
func (q Query) exactService() (service string, ok bool) {
	service = q.service
	for _, m := range q.Matchers {
		switch {
		case m.Op() != store.MatchEqual:
			return "", false
		case m.Label() == labelkey.SpanName:
		case m.Label() == "service_name" && m.Value() != "" && (service == "" || service == m.Value()):
			service = m.Value()
		default:
			return "", false
		}
	}
	switch q.Type.Kind {
	case exporter.KindCPU, exporter.KindWall, exporter.KindHost:
		return service, true
	}
	return "", false
}

// exactName sums up the spans of the name in q. It is nil if none has exact times.
func (r *Reader) exactName(q Query) *ExactName {
	name, _ := q.Value(labelkey.SpanName)
	sum, states, blocked := &ExactName{Name: name}, map[string]int64{}, map[ExactBlocked]*ExactBlocked{}
	for _, x := range r.exactTimesOfName(q) {
		sum.add(x, states, blocked)
	}
	if sum.Spans == 0 {
		return nil
	}
	for state, ns := range states {
		sum.States = append(sum.States, exactState{State: state, DurationNs: ns})
	}
	slices.SortFunc(sum.States, func(x, y exactState) int {
		return cmp.Or(cmp.Compare(y.DurationNs, x.DurationNs), cmp.Compare(x.State, y.State))
	})
	for key, b := range blocked {
		of := q
		of.Query = q.Without(labelkey.SpanName).WithEqual(labelkey.SpanName, key.Span)
		b.Query = of.String()
		sum.Blocked = append(sum.Blocked, *b)
	}
	slices.SortFunc(sum.Blocked, func(x, y ExactBlocked) int {
		return cmp.Or(cmp.Compare(y.DurationNs, x.DurationNs), cmp.Compare(x.Span, y.Span), cmp.Compare(x.State, y.State))
	})
	sum.Blocked = sum.Blocked[:min(len(sum.Blocked), mostBlockedBy)]
	return sum
}

// exactTimesOfName has the slowest spans of the name in q, with their exact times.
func (r *Reader) exactTimesOfName(q Query) iter.Seq2[*store.Span, *exactTimes] {
	return func(yield func(*store.Span, *exactTimes) bool) {
		name, named := q.Value(labelkey.SpanName)
		service, alone := q.exactService()
		if !named || name == "" || !alone || !r.info.ExactTimes {
			return
		}
		left := mostExactBytes
		for _, s := range r.exactSpans(q, name, service) {
			if left <= 0 {
				return
			}
			data := r.exactJSON(s.ProfileID)
			left -= len(data)
			var x exactTimes
			if len(data) > 0 && json.Unmarshal(data, &x) == nil && len(x.Goroutines) > 0 && !yield(&s, &x) {
				return
			}
		}
	}
}

// exactSpans returns the slowest spans of a name that have exact times. They may be few among the
// slowest of all.
func (r *Reader) exactSpans(q Query, name, service string) []store.Span {
	for limit := mostExactSpans; ; limit = mostExactSought {
		spans := r.spans(store.SpanQuery{Name: name, Service: service, From: q.From, Until: q.Until, Order: store.Slowest, Limit: limit, Brief: true})
		var exact []store.Span
		for i := range spans {
			if spans[i].HasExactTimes && len(exact) < mostExactSpans {
				exact = append(exact, spans[i])
			}
		}
		if len(exact) == mostExactSpans || len(spans) < limit || limit == mostExactSought {
			return exact
		}
	}
}

// add adds a span, by what the goroutine did that it began on.
func (n *ExactName) add(x *exactTimes, states map[string]int64, blocked map[ExactBlocked]*ExactBlocked) {
	n.Spans++
	n.DurationNs += x.DurationNs
	own := &x.Goroutines[0]
	for _, s := range own.States {
		states[s.State] += s.DurationNs
	}
	for i := range x.Waits {
		w := &x.Waits[i]
		if w.Goroutine != own.ID || len(w.Blockers) == 0 || w.Blockers[0].Span == "" || w.Blockers[0].Same {
			continue
		}
		key := ExactBlocked{State: w.State, Span: w.Blockers[0].Span}
		b := blocked[key]
		if b == nil {
			b = &ExactBlocked{State: w.State, Span: key.Span}
			blocked[key] = b
		}
		b.DurationNs += w.DurationNs
		b.Count += w.Count
	}
}

// lines describes the waits of the spans.
func (n *ExactName) lines() []string {
	lines := []string{fmt.Sprintf("in %s with exact times: %s", termtext.Plural(n.Spans, "slow span"), n.shares())}
	for i, b := range n.Blocked {
		if i == mostExactWaits {
			break
		}
		lines = append(lines, fmt.Sprintf("%s waits for %s", termtext.Percent(b.DurationNs, n.DurationNs), b.what()))
	}
	return lines
}

func (n *ExactName) shares() string {
	var parts []string
	for _, s := range n.States[:min(len(n.States), mostExactParts)] {
		parts = append(parts, s.State+" "+termtext.Percent(s.DurationNs, n.DurationNs))
	}
	return strings.Join(parts, ", ")
}

// what names the cause of the wait.
func (b *ExactBlocked) what() string {
	switch b.State {
	case "mutex", "rwmutex":
		return "locks held by " + b.Span
	}
	return b.Span + " (" + b.State + ")"
}
