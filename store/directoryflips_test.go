// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// number returns the number in a variable of the environment, or another one if it is not
// set.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// flips are copies of a directory in which bits of one file are flipped.
type flips struct {
	*rand.Rand
	origin string
	files  []string // relative to origin
	trials int
}

// newFlips returns the flips of some files of a directory. SPANPROF_TRIALS sets how many there
// are, SPANPROF_SEED which: the log has the seed. The ids of spans and the start of the process are
// others in each run of a test.
func newFlips(t *testing.T, origin string, files []string, trials uint64) *flips {
	t.Helper()
	quietErrors(t)
	seed := number(t, "SPANPROF_SEED", rand.Uint64())
	f := &flips{Rand: rand.New(rand.NewPCG(seed, 21)), origin: origin, trials: int(number(t, "SPANPROF_TRIALS", trials))}
	for _, file := range files {
		relative, err := filepath.Rel(origin, file)
		if err != nil {
			t.Fatal(err)
		}
		f.files = append(f.files, relative)
	}
	t.Logf("%d flips of %d files, SPANPROF_SEED=%d", f.trials, len(files), seed)
	return f
}

// each calls check with a store of a copy of the directory for each trial. It returns in how
// many a file was set aside.
func (f *flips) each(t *testing.T, check func(s *store.Store, what string)) (setAside int) {
	t.Helper()
	root := t.TempDir()
	for i := range f.trials {
		dir := filepath.Join(root, strconv.Itoa(i))
		if err := os.CopyFS(dir, os.DirFS(f.origin)); err != nil {
			t.Fatal(err)
		}
		what := f.flip(t, dir, f.files[i%len(f.files)])
		s := newStore(t, store.WithDirectory(dir, directoryBytes))
		s.Restored()
		check(s, what)
		if s.Stats().Directory.FilesSetAside > 0 {
			setAside++
		}
		shutdown(t, s)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("in %d of %d a file was set aside, in the others the flipped bits meant nothing", setAside, f.trials)
	return setAside
}

// flip flips one to three bits of a file, and returns which.
func (f *flips) flip(t *testing.T, dir, file string) string {
	t.Helper()
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{filepath.Base(file)}
	for range 1 + f.IntN(3) {
		at, bit := f.IntN(len(data)), f.IntN(8)
		data[at] ^= 1 << bit
		parts = append(parts, fmt.Sprintf("bit %d of byte %d", bit, at))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.Join(parts, ", ")
}

// Flipped bits in the files of a run leave the right data, or less of it that is said.
//
//	SPANPROF_TRIALS=10000 go test -count=1 -v -timeout 30m -run FlippedBits ./store
func TestDirectoryFlippedBits(t *testing.T) {
	origin := t.TempDir()
	first := openStore(t, origin)
	var ids []string
	for n := range 3 {
		id := endSpan(first, "GET /slow", float64(n)+0.1, float64(n)+0.9, nil)
		ids = append(ids, id)
		export(t, first, inWindow(n, exporter.KindCPU, cpuProfile(ofSpan(fmt.Sprint("main;slow", n), int64(n+1), id))))
		if err := first.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantWindows := windowTexts(first)
	shutdown(t, first)
	var files []string
	if err := filepath.WalkDir(origin, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".gz") {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f := newFlips(t, origin, files, 100)
	setAside := f.each(t, func(s *store.Store, what string) {
		whole := 0
		for n, id := range ids {
			sel := selectCPU(t, s, matcher(t, "span_id", store.MatchEqual, id))
			span, ok := s.Span(id)
			switch {
			case ok && sel.Total == int64(n+1)*int64(tick) && (span.SummaryMissing || span.CPUSamples == int64(n+1) && span.Duration == time.Duration(0.8*float64(step))):
				if !span.SummaryMissing {
					whole++
				}
			case sel.Total == 0 && (!ok || span.SamplesHeld == 0 && span.CPUSamples == int64(n+1)):
			default:
				t.Errorf("%s: span %d is %+v with %v", what, n, span, sel.Total)
			}
		}
		d := s.Stats().Directory
		if d.FilesSetAside == 0 && whole != len(ids) {
			t.Errorf("%s: only %d spans are whole, and nothing was set aside: %+v", what, whole, d)
		}
		windows := windowTexts(s)
		for _, w := range windows {
			// Where the file of the process is damaged, the name of a window's file tells the service.
			if !slices.Contains(wantWindows, w) {
				t.Errorf("%s: a window %q, want one of %q", what, w, wantWindows)
			}
		}
		if d.FilesSetAside == 0 && len(windows) != len(wantWindows) {
			t.Errorf("%s: windows %q, want %q", what, windows, wantWindows)
		}
	})
	if setAside < f.trials/2 {
		t.Errorf("a file was set aside in %d of %d, want most", setAside, f.trials)
	}
}

// Flipped bits in what outlives others leave the right data, or less of it that is said.
func TestDirectoryFlippedBitsInKept(t *testing.T) {
	origin := t.TempDir()
	first := newStore(t, store.WithDirectory(origin, 4<<20), store.WithMaxBytes(8<<20))
	slowest := endSpan(first, "GET /slow", 0.1, 0.9, nil)
	export(t, first, busyWindow(0, 2000, slowest))
	for n := 1; len(runFiles(t, origin, filepath.Join("kept", "*"))) == 0; n++ {
		export(t, first, busyWindow(n, 2000, ""))
		if err := first.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shutdown(t, first)
	removeWindows(t, origin)
	files := append(runFiles(t, origin, filepath.Join("kept", "*")), runFiles(t, origin, "*-kept-spans.jsonl.gz")...)
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	f := newFlips(t, origin, files, 60)
	setAside := f.each(t, func(s *store.Store, what string) {
		span, ok := s.Span(slowest)
		total := selectCPU(t, s, matcher(t, "span_id", store.MatchEqual, slowest)).Total
		d := s.Stats().Directory
		switch {
		case ok && span.CPUSamples == 50 && span.SamplesHeld == 50 && total == 50*int64(tick):
		case d.FilesSetAside != 1:
			t.Errorf("%s: %+v with %v, and %+v", what, span, total, d)
		case total != 0 || ok && (span.CPUSamples != 50 || span.SamplesHeld != 0):
			t.Errorf("%s: %+v with %v", what, span, total)
		}
	})
	if setAside < f.trials*2/3 {
		t.Errorf("a file was set aside in %d of %d, want most", setAside, f.trials)
	}
}
