// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// bill is what an expression would be tried on for a query, and was not paid for before.
type bill struct {
	*expression
	condition *filter.Condition
	// bytes is the length of the values, first that of those in the first of several windows.
	bytes, first int64
	// ofList says that the query lists ids, onAttributes that the values are of attributes.
	ofList, onAttributes bool

	newWindows []*window
	newGroups  []samples.Group
	newSets    []filter.Labels
	newValues  []string
}

// window enters the values of a window: of the groups that lists has, or nil, of all.
func (b *bill) window(w *window, lists *filter.Filter, ended func() bool) {
	before := b.bytes
	switch {
	case lists != nil:
		m, _ := lists.Match(&w.Window)
		for g := range m.Groups() {
			if !b.groups[g] {
				b.groups[g] = true
				b.newGroups = append(b.newGroups, g)
				b.listed(g)
			}
		}
	case b.condition.OnID():
		b.bytes += int64(w.Groups()) * b.idLen()
	default:
		for l := range w.Labellings() {
			if ended() {
				return // The caller looks too.
			}
			b.set(filter.LabelsOf(&w.Window, l))
		}
	}
	if lists == nil {
		b.windows[w] = true
		b.newWindows = append(b.newWindows, w)
	}
	if before == 0 {
		b.first = b.bytes
	}
}

// listed enters what one group has.
func (b *bill) listed(g samples.Group) {
	if b.condition.OnID() {
		b.bytes += b.idLen()
		return
	}
	b.set(filter.LabelsOf(g.Window, g.Labelling()))
}

func (b *bill) set(set filter.Labels) {
	if !b.sets[set] {
		b.sets[set] = true
		b.newSets = append(b.newSets, set)
		b.value(set.Get(b.condition.Label()))
	}
}

func (b *bill) value(value string) {
	if !b.values[value] {
		b.values[value] = true
		b.newValues = append(b.newValues, value)
		b.bytes += int64(len(value)) + 1 // with its end
	}
}

func (b *bill) idLen() int64 {
	if b.condition.Label() == labelkey.TraceID {
		return traceIDLen
	}
	return spanIDLen
}

// steps returns how many steps a byte takes.
func (b *bill) steps() int64 { return int64(b.condition.Instructions()) }

// tearUp forgets what was entered: it is not tried.
func (b *bill) tearUp() {
	for _, w := range b.newWindows {
		delete(b.windows, w)
	}
	for _, g := range b.newGroups {
		delete(b.groups, g)
	}
	for _, set := range b.newSets {
		delete(b.sets, set)
	}
	for _, value := range b.newValues {
		delete(b.values, value)
	}
}

// advice says what fits into the steps that are left.
func (b *bill) advice(left int64) string {
	list := []string{"list the values as a|b|c", "make it shorter"}
	if b.ofList {
		list = append(list, "list fewer ids")
	}
	if b.bytes*b.steps() <= maxSteps {
		list = append(list, "ask without the other expressions")
	}
	// The attributes are those of spans of all times.
	if !b.onAttributes && b.first < b.bytes && b.first*b.steps() <= left {
		list = append(list, "ask for less time")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + ", or " + list[last]
}
