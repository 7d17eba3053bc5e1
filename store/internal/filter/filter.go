// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package filter finds the samples of windows whose labels meet the conditions of a
// query. condition.go has one condition, filter.go all of a query.
package filter

import (
	"cmp"
	"iter"
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// Filter applies the conditions of one query to windows.
type Filter struct {
	// ids are the conditions on ids, which are tried on every group, labels
	// the others.
	ids, labels []remembered
	// spans are the spans whose samples match; nil for all, and for samples of none.
	spans map[ident.Key]bool
	// answers remembers what matched: windows share their label sets.
	answers map[Labels]bool
	// text is room for an id.
	text []byte
	// ended reports whether nobody waits for the answer any more.
	ended func() bool
}

// Labels is a label set of samples of one service and version.
type Labels struct {
	set              *samples.LabelSet
	service, version string
}

// LabelsOf returns those of a labelling of a window.
func LabelsOf(w *samples.Window, labelling int) Labels {
	return Labels{w.LabelsOf(labelling), w.Service, w.Version}
}

// New returns a filter without conditions, which matches all samples.
func New() *Filter {
	return &Filter{answers: make(map[Labels]bool), ended: func() bool { return false }}
}

// Until makes the filter find nothing more once ended reports true, which is asked for
// each group.
func (f *Filter) Until(ended func() bool) { f.ended = ended }

// Add adds a condition. tried has what the condition has matched in other filters, and gets
// what it matches in this one; nil is for a condition that no other filter has.
func (f *Filter) Add(c Condition, tried *Tried) {
	if tried == nil {
		tried = new(Tried)
	}
	of := remembered{c, tried}
	if !c.onID() {
		f.labels = append(f.labels, of)
		return
	}
	f.ids = append(f.ids, of)
	// Those that list values leave little to the others.
	slices.SortStableFunc(f.ids, func(a, b remembered) int { return cmp.Compare(a.cost(), b.cost()) })
}

// cost orders the conditions of a query, the cheap ones first.
func (c *Condition) cost() int {
	switch {
	case c.re != nil:
		return 2
	case c.ListsIDs():
		return 0
	default:
		return 1
	}
}

// OfSpans adds the condition that samples belong to some spans.
func (f *Filter) OfSpans(spans map[ident.Key]bool) { f.spans = spans }

// SelectsSpans reports whether the query is about certain spans: it finds what is kept of
// older windows too.
func (f *Filter) SelectsSpans() bool { return f.spans != nil || f.ListsIDs() }

// ListsIDs reports whether the ids of what matches are listed: few groups do.
func (f *Filter) ListsIDs() bool { return slices.ContainsFunc(f.ids, remembered.ListsIDs) }

// Asked returns how many label sets the conditions were tried on.
func (f *Filter) Asked() int { return len(f.answers) }

// Match is the groups of one window that a query selects; there is one at least.
type Match struct {
	window *samples.Window
	filter *Filter
	// named are the groups of a query that lists ids. There are few; those of
	// any other query are found again each time.
	named []samples.Group
	// tried has a bit for each group that met an expression on ids; nil where there is
	// no such expression.
	tried bits
	// labellings says which labellings of the window match; nil for all.
	labellings []bool
}

// Match returns the groups of a window that match, and whether there is any.
func (f *Filter) Match(w *samples.Window) (Match, bool) {
	m := Match{window: w, filter: f}
	if i := slices.IndexFunc(f.ids, remembered.namesID); i >= 0 {
		id := f.ids[i]
		for _, g := range w.Find(nil, id.value, id.key) {
			if f.matches(g) {
				m.named = append(m.named, g)
			}
		}
		return m, m.named != nil
	}
	if i := slices.IndexFunc(f.ids, remembered.namesEnded); i >= 0 {
		for _, g := range w.FindEnded(nil, f.ids[i].key) {
			if f.matches(g) {
				m.named = append(m.named, g)
			}
		}
		return m, m.named != nil
	}
	if f.ListsIDs() {
		// To search for each of 500 takes no less than to look at all.
		for i := range w.Groups() {
			if f.ended() {
				break
			}
			if g := (samples.Group{Window: w, Index: i}); f.matches(g) {
				m.named = append(m.named, g)
			}
		}
		return m, m.named != nil
	}
	m.labellings = f.labellings(w)
	if slices.ContainsFunc(f.ids, func(c remembered) bool { return c.re != nil }) {
		return m, m.try()
	}
	for range m.Groups() {
		return m, true
	}
	return m, false
}

// try tries the expressions on ids, once for each group, and reports whether any matches.
func (m *Match) try() (any bool) {
	tried := make(bits, (m.window.Groups()+63)/64)
	for i := range m.window.Groups() {
		if m.filter.ended() {
			break
		}
		if m.selects(samples.Group{Window: m.window, Index: i}) {
			tried.set(i)
			any = true
		}
	}
	m.tried = tried
	return any
}

// Count returns the number of samples that were taken of the groups.
func (m *Match) Count() (count int64) {
	if m.named == nil && m.labellings == nil && len(m.filter.ids) == 0 && m.filter.spans == nil {
		return m.window.Count
	}
	for g := range m.Groups() {
		count += g.Count()
	}
	return count
}

// Groups returns the groups in the order of the window.
func (m *Match) Groups() iter.Seq[samples.Group] {
	return func(yield func(samples.Group) bool) {
		for _, g := range m.named {
			if !yield(g) {
				return
			}
		}
		if m.named != nil {
			return
		}
		for i := range m.window.Groups() {
			if m.filter.ended() {
				return
			}
			if g := (samples.Group{Window: m.window, Index: i}); m.selects(g) && !yield(g) {
				return
			}
		}
	}
}

func (m *Match) selects(g samples.Group) bool {
	if m.tried != nil {
		return m.tried.has(g.Index)
	}
	return (m.labellings == nil || m.labellings[g.Labelling()]) && m.filter.matchesIDs(g)
}

// AppendSums appends the sum of a column for each labelling of the window.
func (m *Match) AppendSums(sums []int64, column int) []int64 {
	w, from := m.window, len(sums)
	sums = append(sums, make([]int64, w.Labellings())...)
	if m.named == nil && len(m.filter.ids) == 0 && m.filter.spans == nil && !w.Kept {
		for i := range w.Labellings() {
			if m.labellings == nil || m.labellings[i] {
				sums[from+i] = w.Sum(i, column)
			}
		}
		return sums
	}
	for g := range m.Groups() {
		first, last := g.Bounds()
		for i := first; i < last; i++ {
			sums[from+g.Labelling()] += w.Value(i, column)
		}
	}
	return sums
}

// labellings says which labellings of a window match, but for the ids; nil for
// all.
func (f *Filter) labellings(w *samples.Window) []bool {
	if len(f.labels) == 0 {
		return nil
	}
	matched := make([]bool, w.Labellings())
	for i := range matched {
		matched[i] = f.matchesLabels(LabelsOf(w, i))
	}
	return matched
}

func (f *Filter) matches(g samples.Group) bool {
	return f.matchesIDs(g) && f.matchesLabels(LabelsOf(g.Window, g.Labelling()))
}

func (f *Filter) matchesIDs(g samples.Group) bool {
	if f.spans != nil {
		if profile, span := g.Spans(); !f.spans[profile] && !f.spans[span] {
			return false
		}
	}
	for i := range f.ids {
		if !f.matchesID(&f.ids[i], g) {
			return false
		}
	}
	return true
}

func (f *Filter) matchesLabels(labels Labels) bool {
	matched, ok := f.answers[labels]
	if !ok {
		matched = true
		for i := range f.labels {
			matched = matched && f.matchesLabel(i, labels.Get(f.labels[i].label))
		}
		f.answers[labels] = matched
	}
	return matched
}

// matchesLabel tries an expression once for each value: many label sets have it.
func (f *Filter) matchesLabel(i int, value string) bool {
	c := &f.labels[i]
	if c.re == nil {
		return c.matches(value)
	}
	return c.tried.value(&c.Condition, value)
}

// Get returns the value of a label; the service's name and version are those of
// the resource unless a sample has them as labels of its own.
func (l Labels) Get(key string) string {
	value, ok := l.set.Lookup(key)
	switch {
	case ok:
		return value
	case key == "service_name":
		return l.service
	case key == "service_version":
		return l.version
	default:
		return ""
	}
}
