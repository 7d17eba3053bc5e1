// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// A client that leaves does not wait for a list of exemplars, whether it is being made for it or
// for another one.
func TestExemplarsEnd(t *testing.T) {
	s, _ := ofIDs(t, 20, 1000, "%016x", labelkey.ProfileID)
	queries := map[string]func(store.View) error{
		"Spans":      func(v store.View) error { _, err := v.Spans(store.SpanQuery{Limit: 10}); return err },
		"NameTotals": func(v store.View) error { _, err := v.NameTotals(); return err },
	}
	for name, ask := range queries {
		ctx := &counting{Context: t.Context(), ends: 20} // a part of 20,000 groups
		v, err := s.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(v); !errors.Is(err, context.Canceled) || ctx.asked > 25 {
			t.Errorf("%s: asked %d times, although the client had left after 20: %v", name, ctx.asked, err)
		}
		v.Close()
	}
	for name, ask := range queries {
		release := s.HoldExemplars()
		ctx, leave := context.WithCancel(t.Context())
		v, err := s.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan error)
		go func() { left <- ask(v) }()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that of a client that has left", name, err)
		}
		v.Close()
		release()
		if len(s.Spans(store.SpanQuery{Limit: 10})) != 10 || len(s.NameTotals()) != 20 {
			t.Errorf("%s: the next client has no whole list", name)
		}
	}
}
