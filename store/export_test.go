// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/google/pprof/profile"
)

// ask answers one query through a view of its own.
func ask[A any](s *Store, query func(View) (A, error)) (A, error) {
	v, err := s.View(context.Background())
	if err != nil {
		return *new(A), err
	}
	defer v.Close()
	return query(v)
}

// must is ask for queries that cannot fail.
func must[A any](s *Store, query func(View) (A, error)) A {
	a, err := ask(s, query)
	if err != nil {
		panic(err)
	}
	return a
}

func (s *Store) Spans(q SpanQuery) []Span {
	return must(s, func(v View) ([]Span, error) { return v.Spans(q) })
}

func (s *Store) Span(id string) (span Span, ok bool) {
	must(s, func(v View) (_ any, err error) { span, ok, err = v.Span(id); return nil, err })
	return span, ok
}

func (s *Store) NameTotals() []NameTotal { return must(s, View.NameTotals) }

func (s *Store) Select(q Query) (*Selection, error) {
	return ask(s, func(v View) (*Selection, error) { return v.Select(q) })
}

func (s *Store) Profile(q Query) (*profile.Profile, error) {
	return ask(s, func(v View) (*profile.Profile, error) { return v.Profile(q) })
}

func (s *Store) Timeline(q Query, n int) (*Timeline, error) {
	return ask(s, func(v View) (*Timeline, error) { return v.Timeline(q, n) })
}

func (s *Store) Kinds(q Query) []KindTotal {
	return must(s, func(v View) ([]KindTotal, error) { return v.Kinds(q) })
}

func (s *Store) Windows(q WindowQuery) []WindowInfo {
	return must(s, func(v View) ([]WindowInfo, error) { return v.Windows(q) })
}

// Restored waits until the files of earlier processes are read.
func (s *Store) Restored() { <-s.room.Restored() }
