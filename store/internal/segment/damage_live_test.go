// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package segment

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files with random damage are counted and reported, and nothing damaged is shown. An open
// segment that ends between two writes is whole, as after a kill.
func TestRandomDamage(t *testing.T) {
	const trials = 2000
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	fill(t, r, 0, 6)
	r.sealNow()
	fill(t, r, 6, 9)
	r.mu.Lock()
	r.seal()
	r.dropOldest()
	r.mu.Unlock()
	fill(t, r, 9, 14)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole := contentsOf(t, readRoom(t, path, 64<<20))
	sums := make(map[string]Sums)
	for i, e := range whole.Spans {
		sums[e.ID.String()] = whole.Sums[i]
	}
	found, _ := filepath.Glob(filepath.Join(path, "*", "*", "*.gz"))
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	kinds, unchanged := make(map[string]int), 0
	for trial := range trials {
		file := found[rnd.IntN(len(found))]
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, kind := slices.Clone(was), "cut"
		if at := rnd.IntN(len(b)); rnd.IntN(4) > 0 {
			b[at] ^= 1 << rnd.IntN(8)
			kind = "flip"
		} else {
			b = b[:at]
		}
		kinds[kind]++
		reader, reported := readWith(t, path, file, b)
		got, counted := contentsOf(t, reader), 0
		if reader.loader != nil {
			counted = int(reader.View().Unreadable)
		}
		torn := readLines(b, func([]byte) error { return nil })
		between := kind == "cut" && filepath.Base(file) == spansFile && strings.HasSuffix(filepath.Dir(file), opened) && torn == nil
		same := cmp.Equal(got, whole)
		if same {
			unchanged++
		}
		if reported != counted || reported == 0 && (!same || kind == "cut") && !between {
			t.Errorf("seed %d, trial %d: %s of %s: %d reported, %d counted", seed, trial, kind, file, reported, counted)
		}
		for stack, n := range got.Stacks {
			if n > whole.Stacks[stack] {
				t.Errorf("seed %d, trial %d: %s of %s: %d of %s, want %d at most", seed, trial, kind, file, n, stack, whole.Stacks[stack])
			}
		}
		for i, e := range got.Spans {
			if !slices.Contains(whole.Spans, e) || got.Sums[i].CPU > sums[e.ID.String()].CPU {
				t.Errorf("seed %d, trial %d: %s of %s: %+v %+v", seed, trial, kind, file, e, got.Sums[i])
			}
		}
		for _, start := range got.Windows {
			if !slices.Contains(whole.Windows, start) {
				t.Errorf("seed %d, trial %d: %s of %s: a window of %s", seed, trial, kind, file, start)
			}
		}
	}
	t.Logf("seed %d: %v in %d files, after %d of them all was there", seed, kinds, len(found), unchanged)
}
