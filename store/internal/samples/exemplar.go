// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"cmp"
	"iter"
	"time"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Exemplar is an id that may name work without a span, and what the profiles tell
// about it; the newest has the last word. There may be hundreds of thousands, so its
// service and trace are read from the windows only when asked for.
type Exemplar struct {
	// Key is the id or, if that is not a span's, Text is.
	Key  ident.Key
	Text string
	// Named says that a span_id names it too: it is a span.
	Named bool
	// Label is the newest span_name.
	Label string
	spanlog.Samples
	// LoneCPU is the CPU time of samples without a span_id, which nothing else
	// counts, LoneCount their number.
	LoneCPU   time.Duration
	LoneCount int64

	groups int
	// newest is the group that came last, traced the last one with a trace, and
	// first and last are the windows that bound them all.
	newest, traced Group
	first, last    *Window
}

// add adds a group that has the id.
func (x *Exemplar) add(g Group) {
	w := g.Window
	if x.groups == 0 || w.Start.Before(x.first.Start) {
		x.first = w
	}
	if x.groups == 0 || w.End.After(x.last.End) {
		x.last = w
	}
	x.groups++
	x.newest = g
	if g.traced() {
		x.traced = g
	}
	s := g.samples()
	x.Add(s)
	if _, span := g.Spans(); span == 0 && g.SpanID() == "" {
		x.LoneCPU += s.CPU
		x.LoneCount += s.CPUCount
	}
}

// ID returns the profile_id.
func (x *Exemplar) ID() string { return cmp.Or(x.Text, x.Key.String()) }

// Service returns service.name of the newest window.
func (x *Exemplar) Service() string { return x.newest.Window.Service }

// TraceID returns the newest trace_id, "" if there is none.
func (x *Exemplar) TraceID() string {
	if x.traced.Window == nil {
		return ""
	}
	return x.traced.TraceID()
}

// Bounds returns the time of the windows with its samples.
func (x *Exemplar) Bounds() (start, end time.Time) { return x.first.Start, x.last.End }

// ExemplarOf returns what windows know of an id, nil for nothing. key is the id if it
// is a span's.
func ExemplarOf(windows iter.Seq[*Window], id string, key ident.Key) *Exemplar {
	var groups []Group
	for w := range windows {
		groups = w.Find(groups, id, key)
	}
	if len(groups) == 0 {
		return nil
	}
	x := &Exemplar{Text: id}
	own := false
	for _, g := range groups {
		x.add(g)
		named := g.SpanID() == id
		// The span's own samples know its name best.
		if label := g.Labels().SpanName(); label != "" && (named || !own) {
			x.Label = label
			own = named
		}
		x.Named = x.Named || named || !g.Window.Loose(g.Index)
	}
	return x
}

// Exemplars returns what windows have of ids that were no known span's when the
// windows came, in the order in which these came. What it returns is of no use once ended
// reports true, which it asks for each group.
func Exemplars(windows iter.Seq[*Window], ended func() bool) []Exemplar {
	loose, texts := 0, 0
	for w := range windows {
		loose += len(w.loose)
		texts += len(w.texts)
	}
	if loose == 0 {
		return nil
	}
	list := make([]Exemplar, 0, loose)
	byKey := make(map[ident.Key]uint32, max(0, loose-texts))
	byText := make(map[string]uint32, min(loose, texts))
	for w := range windows {
		for _, i := range w.loose {
			if ended() {
				return nil
			}
			g := Group{w, int(i)}
			x := Exemplar{}
			var (
				at    uint32
				known bool
			)
			if x.Key, _ = g.Spans(); x.Key != 0 {
				if at, known = byKey[x.Key]; !known {
					at = uint32(len(list))
					byKey[x.Key] = at
				}
			} else {
				x.Text = g.ProfileID()
				if at, known = byText[x.Text]; !known {
					at = uint32(len(list))
					byText[x.Text] = at
				}
			}
			if !known {
				list = append(list, x)
			}
			list[at].add(g)
			list[at].Label = cmp.Or(g.Labels().SpanName(), list[at].Label)
		}
	}
	for w := range windows {
		w.eachSpanID(byKey, byText, ended, func(i uint32) { list[i].Named = true })
	}
	return list
}

// eachSpanID shows the exemplars that a span_id of the window names, until ended reports true.
func (w *Window) eachSpanID(byKey map[ident.Key]uint32, byText map[string]uint32, ended func() bool, visit func(uint32)) {
	if len(byKey) > 0 {
		for i := range w.groups {
			if ended() {
				return
			}
			row := &w.groups[i]
			if row.span == 0 || (Group{w, i}).labelling().form == profileIDOnly {
				continue
			}
			if x, ok := byKey[row.span]; ok {
				visit(x)
			}
		}
	}
	for _, t := range w.texts {
		if ended() {
			return
		}
		if (Group{w, int(t.group)}).SpanID() != t.id {
			continue
		}
		if x, ok := byText[t.id]; ok {
			visit(x)
		} else if x, ok := byKey[ident.ParseKey(t.id)]; ok {
			visit(x)
		}
	}
}
