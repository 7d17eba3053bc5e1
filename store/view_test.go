// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
)

// TestViewEnds has a client that goes away.
func TestViewEnds(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	view, err := s.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	cancel()
	for what, ask := range map[string]func() error{
		"Spans":   func() error { _, err := view.Spans(store.SpanQuery{}); return err },
		"a span":  func() error { _, err := view.Spans(store.SpanQuery{ID: "job"}); return err },
		"names":   func() error { _, err := view.Spans(store.SpanQuery{Names: true}); return err },
		"Samples": func() error { _, err := view.Samples(store.Query{}); return err },
		"Windows": func() error { _, err := view.Windows(); return err },
	} {
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", what, err, context.Canceled)
		}
	}
	if _, err := s.View(ctx, time.Time{}, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
