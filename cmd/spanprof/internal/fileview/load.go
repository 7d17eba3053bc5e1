// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package fileview loads all profiles of files or other sources, and shows them on the
// viewer's page: one set, or two beside each other.
package fileview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/internal/wire"
	"github.com/spanprof/spanprof/store"
)

// Label is the label with the name of a sample's set, if there are several sets.
const Label = "set"

// Set is profiles that are shown together.
type Set struct {
	// Name is the value of Label. It is unused if there is one set.
	Name string
	// Sources are SOURCEs of the command line.
	Sources []string
}

// Page is the profiles of some sets, a source for the viewer.
type Page struct {
	// Notes have what is not shown, in sentences without a capital and a full stop. The page
	// shows them too.
	Notes []string

	store *store.Store
	sets  []Set
	// earlier is set for a directory with spans of earlier processes.
	earlier bool
	kinds   map[exporter.Kind]map[int]bool // the sets with a kind
	total   columns.Total
	// empty are profiles without samples, changes profiles with values below zero, cut
	// profiles with values that are too large.
	empty, changes, cut []string
	unreadable          int // profiles
}

// Load reads the profiles of all sets, which may take up to maxBytes of memory, at least
// 8 MiB. The oldest ones that do not fit are left out, with a note. skip gets the errors of
// unreadable ones. It is an error if nothing can be shown.
func Load(ctx context.Context, sets []Set, maxBytes int64, skip func(error)) (*Page, error) {
	s, err := store.New(store.WithMaxBytes(maxBytes))
	if err != nil {
		return nil, err
	}
	p := &Page{store: s, sets: sets, kinds: map[exporter.Kind]map[int]bool{}, total: columns.Total{}}
	read := 0
	report := func(err error) {
		if !errors.Is(err, source.ErrSeen) {
			p.unreadable++
		}
		skip(err)
	}
	for i, set := range sets {
		err := source.ReadAll(ctx, set.Sources, "", report, func(_ string, from *source.Profile) error {
			read++
			shown, err := p.prepare(i, from)
			if shown == nil {
				return err
			}
			if err := s.Export(ctx, shown); err != nil {
				p.unreadable-- // the store counts it
				return fmt.Errorf("it is left out: %w", err)
			}
			// The next profile has room: the store evicts the oldest ones for it.
			untrusted.LimitMemory(max(maxBytes+128<<20, 512<<20, s.Stats().Bytes+wire.MaxProfile))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return p, p.finish(read, maxBytes)
}

// OpenDirectory returns the page of a directory of store.WithDirectory, with the spans of
// earlier processes. report gets the errors of unreadable files. ok is false for another path.
func OpenDirectory(path string, maxBytes int64, report func(error)) (p *Page, ok bool, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, false, nil
	}
	p = &Page{sets: []Set{{}}, earlier: true}
	p.store, err = store.OpenDirectory(path, func(err error) {
		p.unreadable++
		report(err)
	}, store.WithMaxBytes(maxBytes))
	if err != nil {
		return nil, !errors.Is(err, store.ErrNoRuns), err
	}
	d := p.store.Stats().Directory
	if p.unreadable > 0 {
		p.Notes = append(p.Notes, termtext.Plural(p.unreadable, "file")+" could not be read: the command has reported why")
	}
	if d.WindowsLeftOut > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("no room for %s: raise -max-bytes", termtext.Plural(d.WindowsLeftOut, "profile")))
	}
	return p, true, nil
}

// Change is the label of samples of a difference of two profiles: more or less.
const Change = "change"

// prepare returns a profile as the page shows it, nil if it has no samples. Values below zero
// are shown by their size, with the label Change. Samples have the name of the set in front of
// their own label, if there are several sets.
func (p *Page) prepare(set int, from *source.Profile) (*exporter.Profile, error) {
	parsed, err := from.Parsed()
	if err != nil {
		return nil, err
	}
	some, below := false, false
	for _, s := range parsed.Sample {
		for _, v := range s.Value {
			some, below = some || v != 0, below || v < 0
		}
	}
	if !some {
		p.empty = append(p.empty, from.Name)
		return nil, nil
	}
	if p.total.Add(string(from.Kind()), parsed) {
		p.cut = append(p.cut, from.Name)
	}
	if below {
		p.changes = append(p.changes, from.Name)
	}
	if len(p.sets) > 1 || below {
		for _, s := range parsed.Sample { // nothing else has them
			s.Label = maps.Clone(s.Label)
			if s.Label == nil {
				s.Label = map[string][]string{}
			}
			if len(p.sets) > 1 {
				s.Label[Label] = append([]string{p.sets[set].Name}, s.Label[Label]...)
			}
			if below {
				s.Label[Change] = []string{absolute(s.Value)}
			}
		}
	}
	kind := kindOf(from.Kind(), parsed)
	if p.kinds[kind] == nil {
		p.kinds[kind] = map[int]bool{}
	}
	p.kinds[kind][set] = true
	w := exporter.Window{Kind: kind, Start: from.Start(), Duration: from.Duration(), Resource: from.Resource()}
	return exporter.NewParsedProfile(w, parsed), nil
}

// kindOf returns the kind of a profile. The page has a link for each main type of a kind. So a
// profile that lacks the column of one has the name of its own column: a heap profile of
// Node.js, for example, has no allocations.
func kindOf(kind exporter.Kind, p *profile.Profile) exporter.Kind {
	own, lacks := p.SampleType[len(p.SampleType)-1].Type, false
	for _, t := range flameql.Types {
		if t.Kind != kind || t.Minor || t.SampleType == "" {
			continue
		}
		if columns.Index(p, t.SampleType) >= 0 {
			own = t.SampleType
		} else {
			lacks = true
		}
	}
	if !lacks {
		return kind
	}
	p.DefaultSampleType = own
	return exporter.Kind(columns.Other + own)
}

// absolute makes values positive, and returns whether the sample became more or less.
func absolute(values []int64) string {
	change := "more"
	for i, v := range values {
		if v < 0 {
			values[i], change = -v, "less"
		}
	}
	return change
}

// finish counts the profiles, and notes the missing ones.
func (p *Page) finish(read int, maxBytes int64) error {
	stats := p.store.Stats()
	if stats.Windows == 0 {
		p.note(p.empty, "no samples")
		return fmt.Errorf("cannot show any of %d profiles%s", read+p.unreadable, strings.Join(append([]string{""}, p.Notes...), ": "))
	}
	if left := stats.WindowsEvicted + stats.WindowsRefused; left > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d profiles are left out, as they do not fit into %d MiB: -max-bytes gives them more room", left, read, maxBytes>>20))
	}
	if p.unreadable > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d profiles could not be read: the command has reported why", p.unreadable, read+p.unreadable))
	}
	p.note(p.empty, "no samples")
	p.note(p.changes, "values below zero, as the difference of two profiles: the size of each change is shown, and the label change is more or less")
	p.note(p.cut, "values that are too large, and cut: sums end at 73 years")
	if _, ok := p.common(); len(p.sets) == 2 && !ok {
		p.Notes = append(p.Notes, "the two sides have no type of profiles in common")
	}
	return nil
}

// note adds a note about what some profiles have.
func (p *Page) note(names []string, what string) {
	switch n := len(names) - 1; {
	case n > 0:
		p.Notes = append(p.Notes, fmt.Sprintf("%s and %d more have %s", termtext.OneLine(names[0]), n, what))
	case n == 0:
		p.Notes = append(p.Notes, termtext.OneLine(names[0])+" has "+what)
	}
}

// common returns the first type that all sets have. Columns of other tools come last.
func (p *Page) common() (flameql.Type, bool) {
	types := slices.Clone(flameql.Types)
	for _, kind := range slices.Sorted(maps.Keys(p.kinds)) {
		if t, ok := flameql.Other(kind); ok {
			types = append(types, t)
		}
	}
	i := slices.IndexFunc(types, func(t flameql.Type) bool { return len(p.kinds[t.Kind]) == len(p.sets) })
	if i < 0 {
		return flameql.Type{}, false
	}
	return types[i], true
}

// Path returns the path to open: the list, or the comparison of two sets by a type that both have.
func (p *Page) Path() string {
	t, ok := p.common()
	if len(p.sets) != 2 || !ok {
		return "/"
	}
	left, right := flameql.Query{Type: t}.WithEqual(Label, p.sets[0].Name), flameql.Query{Type: t}.WithEqual(Label, p.sets[1].Name)
	params := url.Values{"query": {right.String()}, "leftQuery": {left.String()}, "rightQuery": {right.String()}}
	return "/comparison?" + params.Encode()
}

// View implements store.Source.
func (p *Page) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := p.store.View(ctx, from, until)
	return &fileView{v, p}, err
}

// fileView is a view of the store with the spans that samples name.
type fileView struct {
	store.View
	page *Page
}

// Info implements store.View.
func (v *fileView) Info() store.Info {
	if v.page.earlier {
		info := v.View.Info()
		info.Notes = v.page.Notes
		return info
	}
	return store.Info{Notes: v.page.Notes, Lacks: store.LacksUpdates | store.LacksRecords}
}

// Spans implements store.View.
func (v *fileView) Spans(q store.SpanQuery) (store.SpanList, error) {
	q.Sampled = !v.page.earlier
	list, err := v.View.Spans(q)
	for i := range list.Spans {
		list.Spans[i].Complete = q.Sampled || list.Spans[i].Complete // no more samples come
	}
	return list, err
}
