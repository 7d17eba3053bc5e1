// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"context"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// A process that found the profiles of an earlier one is compared with it.
func TestPresetOfTheEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	before, err := store.New(store.WithDirectory(dir, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	exportTens(t, before, 0, 3)
	if err := before.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := store.New(store.WithDirectory(dir, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	exportTens(t, s, 10, 12)
	var p *answer.Preset
	for deadline := time.Now().Add(time.Minute); p == nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if windows := s.Stats().Directory; !windows.Restoring && windows.Windows == 3 {
			p = preset(t, s, "process")
		}
	}
	if p == nil {
		t.Fatalf("no preset; the directory has %+v", s.Stats().Directory)
	}
	if left, right := sides(t, s, p); left != 6 || right != 23 || p.Title != "This process against the earlier one" {
		t.Errorf("%s: %d and %d samples, want 6 and 23", p.Title, left, right)
	}
}
