// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
)

// TestDay requires that a store of 16 MiB keeps the spans of a day that people search for. The
// command does the same for a week.
func TestDay(t *testing.T) {
	s, err := store.New(store.WithMaxBytes(16 << 20))
	if err != nil {
		t.Fatal(err)
	}
	w := week{length: 24 * time.Hour, rate: 3, unique: 0.5, oneOffs: 300, seed: 1}
	if testing.Short() {
		w.length = 9 * time.Hour
	}
	least := 1 << 30
	w.every = func(at time.Duration, refused int64, last error) {
		if refused > 0 {
			t.Fatalf("after %v: %d profiles refused, the last: %v", at, refused, last)
		}
		stats := s.Stats()
		if stats.Bytes > stats.MaxBytes {
			t.Fatalf("after %v: %d of %d bytes", at, stats.Bytes, stats.MaxBytes)
		}
		if stats.WindowsEvicted > 0 {
			least = min(least, stats.Windows)
		}
	}
	r, err := w.run(s)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.print(&text)
	t.Logf("%sleast windows held: %d", text.String(), least)
	if share := r.share(); share < 0.95 {
		t.Errorf("%.1f %% of what is worth keeping has samples, want 95 %%", 100*share)
	}
	for _, l := range r.lists {
		if l.wanted < 8 {
			t.Errorf("%s: %d spans say little", l.title, l.wanted)
		}
	}
}
