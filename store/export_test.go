// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/google/pprof/profile"
)

// ask answers one question through a view of its own.
func ask[A any](s *Store, question func(View) (A, error)) (A, error) {
	v, err := s.View(context.Background(), time.Time{}, time.Time{})
	if err != nil {
		return *new(A), err
	}
	defer v.Close()
	return question(v)
}

// must is ask for questions that cannot fail.
func must[A any](s *Store, question func(View) (A, error)) A {
	a, err := ask(s, question)
	if err != nil {
		panic(err)
	}
	return a
}

func (s *Store) list(q SpanQuery) SpanList {
	return must(s, func(v View) (SpanList, error) { return v.Spans(q) })
}

func (s *Store) Spans(q SpanQuery) []Span { return s.list(q).Spans }

func (s *Store) Span(id string) (span Span, ok bool) {
	for _, span := range s.list(SpanQuery{ID: id}).Spans {
		return span, true
	}
	return span, false
}

func (s *Store) NameTotals() []NameTotal { return s.list(SpanQuery{Names: true}).Names }

// Samples returns sums of samples, Select those by stack, Profile the pprof form.
func (s *Store) Samples(q Query) (*Samples, error) {
	return ask(s, func(v View) (*Samples, error) { return v.Samples(q) })
}

func (s *Store) Select(q Query) (*Samples, error) {
	q.Stacks = true
	return s.Samples(q)
}

func (s *Store) Profile(q Query) (*profile.Profile, error) {
	q.Pprof = true
	a, err := s.Samples(q)
	if err != nil {
		return nil, err
	}
	return a.Profile, nil
}

func (s *Store) Windows() []WindowInfo { return must(s, View.Windows) }

func (s *Store) Info() Info { return must(s, func(v View) (Info, error) { return v.Info(), nil }) }

// Restored waits until the files of earlier processes are read.
func (s *Store) Restored() { <-s.room.Restored() }
