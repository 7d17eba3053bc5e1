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
	"net/http"
	"net/url"
	"os"
	"slices"
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
	"github.com/spanprof/spanprof/viewer"
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

// Page is the profiles of some sets, ready to be shown.
type Page struct {
	store *store.Store
	sets  []Set
	notes []string
	// earlier is set for a directory with spans of earlier processes.
	earlier bool
	total   columns.Total
	// empty are profiles without samples, changes profiles with values below zero, cut
	// profiles with values that are too large.
	empty, changes, cut []string
	// Profiles is the number of shown profiles, Unreadable of unreadable ones.
	Profiles, Unreadable int
}

// errRefused is the error for a profile that the store refuses and counts.
var errRefused = errors.New("it is left out")

// Load reads the profiles of all sets, which may take up to maxBytes of memory, at least
// 8 MiB. The oldest ones that do not fit are left out, with a note. skip gets the errors of
// unreadable ones. It is an error if nothing can be shown.
func Load(ctx context.Context, sets []Set, maxBytes int64, skip func(error)) (*Page, error) {
	s, err := store.New(store.WithMaxBytes(maxBytes))
	if err != nil {
		return nil, err
	}
	p := &Page{store: s, sets: sets, total: columns.Total{}}
	read := 0
	report := func(err error) {
		if !errors.Is(err, errRefused) {
			p.Unreadable++
		}
		skip(err)
	}
	for _, set := range sets {
		err := source.ReadAll(ctx, set.Sources, nil, report, func(_ source.Source, from *source.Profile) error {
			read++
			shown, err := p.prepare(set, from)
			if shown == nil {
				return err
			}
			if err := s.Export(ctx, shown); err != nil {
				return fmt.Errorf("%w: %w", errRefused, err)
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
		p.Unreadable++
		report(err)
	}, store.WithMaxBytes(maxBytes))
	if err != nil {
		return nil, !errors.Is(err, store.ErrNoRuns), err
	}
	d := p.store.Stats().Directory
	p.Profiles = d.Windows
	if p.Unreadable > 0 {
		p.notes = append(p.notes, termtext.Plural(p.Unreadable, "file")+" could not be read: the command has reported why")
	}
	if d.WindowsLeftOut > 0 {
		p.notes = append(p.notes, fmt.Sprintf("no room for %s: raise -max-bytes", termtext.Plural(d.WindowsLeftOut, "profile")))
	}
	return p, true, nil
}

// Change is the label of samples of a difference of two profiles: more or less.
const Change = "change"

// prepare returns a profile as the page shows it, nil if it has no samples. Values below zero
// are shown by their size, with the label Change. Samples have the name of the set in front of
// their own label, if there are several sets.
func (p *Page) prepare(set Set, from *source.Profile) (*exporter.Profile, error) {
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
				s.Label[Label] = append([]string{set.Name}, s.Label[Label]...)
			}
			if below {
				s.Label[Change] = []string{absolute(s.Value)}
			}
		}
	}
	w := exporter.Window{Kind: kindOf(from.Kind(), parsed), Start: from.Start(), Duration: from.Duration(), Resource: from.Resource()}
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
	p.Profiles = stats.Windows
	if p.Profiles == 0 {
		if len(p.empty) > 0 && p.Unreadable == 0 {
			return fmt.Errorf("cannot show any of %d profiles: %s", read, sentence(p.empty, "no samples"))
		}
		return fmt.Errorf("cannot show any of %d profiles", read+p.Unreadable)
	}
	if left := stats.WindowsEvicted + stats.WindowsRefused; left > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d of %d profiles are left out, as they do not fit into %d MiB: -max-bytes gives them more room", left, read, maxBytes>>20))
	}
	if p.Unreadable > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d of %d profiles could not be read: the command has reported why", p.Unreadable, read+p.Unreadable))
	}
	if len(p.empty) > 0 {
		p.notes = append(p.notes, sentence(p.empty, "no samples"))
	}
	if len(p.changes) > 0 {
		p.notes = append(p.notes, sentence(p.changes, "values below zero, as the difference of two profiles: the size of each change is shown, and the label change is more or less"))
	}
	if len(p.cut) > 0 {
		p.notes = append(p.notes, sentence(p.cut, "values that are too large, and cut: sums end at 73 years"))
	}
	return nil
}

// sentence returns a sentence about what some profiles have.
func sentence(names []string, what string) string {
	if n := len(names) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more have %s", termtext.OneLine(names[0]), n, what)
	}
	return termtext.OneLine(names[0]) + " has " + what
}

// Notes returns what is not shown, in sentences without a capital and a full stop. The page
// shows them too.
func (p *Page) Notes() []string { return p.notes }

// Handler returns the page.
func (p *Page) Handler(opts ...viewer.Option) http.Handler {
	return viewer.Handler(&fileSource{p}, opts...)
}

// Path returns the path to open: the list, or the comparison of two sets. That shows the
// first type of profiles in both.
func (p *Page) Path(ctx context.Context) (string, error) {
	if len(p.sets) != 2 {
		return "/", nil
	}
	v, err := p.store.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		return "", err
	}
	defer v.Close()
	types := slices.Clone(flameql.Types)
	kinds, err := v.Samples(store.Query{})
	if err != nil {
		return "", err
	}
	for _, sum := range kinds.Sums {
		if t, ok := flameql.Other(sum.Kind); ok {
			types = append(types, t)
		}
	}
	for _, t := range types {
		left, right := query(t, p.sets[0]), query(t, p.sets[1])
		both := true
		for _, q := range []flameql.Query{left, right} {
			samples, err := v.Samples(store.Query{Kind: t.Kind, SampleType: t.SampleType, Matchers: q.Matchers})
			// Without such a value nothing is in common.
			both = both && err == nil && samples.Total != 0
		}
		if both {
			params := url.Values{"query": {right.String()}, "leftQuery": {left.String()}, "rightQuery": {right.String()}}
			return "/comparison?" + params.Encode(), nil
		}
	}
	p.notes = append(p.notes, "the two sides have no type of profiles in common")
	return "/", nil
}

func query(t flameql.Type, set Set) flameql.Query {
	return flameql.Query{Type: t}.WithEqual(Label, set.Name)
}
