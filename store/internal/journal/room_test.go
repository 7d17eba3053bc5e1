// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/journal"
)

// filesOf returns the names and the sizes of all files that make room.
func filesOf(t *testing.T, dir string) (texts []string) {
	t.Helper()
	for _, file := range append(glob(t, dir, "*Z-*.gz"), glob(t, dir, filepath.Join("kept", "*.gz"))...) {
		texts = append(texts, fmt.Sprint(file, " ", sizeOf(t, []string{file})))
	}
	return texts
}

// A window that is too large for the directory makes nothing leave it.
func TestWindowThatDoesNotFit(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	half := func(s *profile.Sample) int {
		if s.Label["rank"][0] < "5" {
			return 0
		}
		return journal.NoRank
	}
	for _, rank := range []func(*profile.Sample) int{nil, half} {
		dir := t.TempDir()
		const bytes = 20_000
		j := openWith(t, dir, journal.Config{MaxBytes: bytes, Rank: rank})
		refused, wide := 0, 0
		for i := range 60 {
			at := start.Add(time.Duration(i) * time.Minute)
			n := 20 << r.IntN(9) // of each of ten samples: up to 30 kB in all
			switch i % 20 {
			case 12:
				n = 20 << 6 // fits, and many make room
			case 16:
				n = 20 << 8
			}
			if i%10 == 5 {
				if err := j.Kept(at, []journal.Span{span(i)}); err != nil {
					t.Fatal(err)
				}
			}
			before := filesOf(t, dir)
			name, err := j.Profile(large(at, 10, n))
			after := filesOf(t, dir)
			if err == nil {
				if size := j.Stats().Bytes; size > bytes {
					t.Fatalf("seed %d, window %d: %d bytes, want at most %d", seed, i, size, bytes)
				}
				if sizeOf(t, glob(t, dir, name)) > bytes/3 {
					wide++
				}
				continue
			}
			refused++
			if !strings.Contains(err.Error(), "that there can be room for") || !slices.Equal(before, after) {
				t.Fatalf("seed %d, window %d: %v: files\n%s\nwant\n%s", seed, i, err, strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
		}
		if refused == 0 || wide == 0 {
			t.Errorf("seed %d: %d windows were refused and %d large ones written, want some of both", seed, refused, wide)
		}
	}
}

// What a process has taken in of earlier ones stays on the disk until it is written again,
// also where it is more than its share: the process may be killed before.
func TestKeptSpansStayUntilTheyAreWritten(t *testing.T) {
	const bytes = 100_000
	dir := t.TempDir()
	long := func(id int) journal.Span { // about 12 kB
		s := span(id)
		for range 20 {
			s.Attributes = append(s.Attributes, journal.Attribute{Key: "key", Value: text(1000)})
		}
		return s
	}
	// Processes that run at the same time each have a share.
	var all []*journal.Journal
	for i := range 4 {
		j := open(t, dir, bytes)
		all = append(all, j)
		if err := j.Kept(start, []journal.Span{long(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range all {
		closed(t, j)
	}
	if size := sizeOf(t, glob(t, dir, "*-kept-spans.jsonl.gz")); size <= bytes/4 || size > bytes/5*3 {
		t.Fatalf("the spans of four processes take %d bytes, and the test wants more than their share of %d", size, bytes)
	}
	taken := func(j *journal.Journal) (n int) {
		for _, f := range j.Files() {
			if f.Type == journal.KeptSpans {
				_, spans, err := j.ReadSpans(f)
				if err != nil {
					t.Error(err)
				}
				n += len(spans)
				j.Taken(f)
			}
		}
		return n
	}
	for range 2 { // one is killed, and the next has all spans
		j := open(t, dir, bytes)
		if n := taken(j); n != 4 {
			t.Errorf("%d spans of earlier processes, want 4", n)
		}
		for i := range 10 {
			if _, err := j.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
				t.Error(err)
			}
		}
		if s := j.Stats(); s.Bytes > bytes {
			t.Errorf("%+v, want at most %d bytes", s, bytes)
		}
		closed(t, j)
	}
	last := open(t, dir, bytes)
	if n := taken(last); n != 4 {
		t.Errorf("%d spans of earlier processes, want 4", n)
	}
	if err := last.Kept(start, []journal.Span{long(5)}); err != nil {
		t.Fatal(err)
	}
	if n := len(glob(t, dir, "*-kept-spans.jsonl.gz")); n != 1 {
		t.Errorf("%d files of kept spans once all are written again, want one", n)
	}
}

// Kept spans that leave no room for windows make some, those of the oldest run first.
func TestKeptSpansWithoutRoomForWindows(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		j := open(t, dir, 1<<20)
		s := span(i + 1)
		for range 20 { // about 12 kB
			s.Attributes = append(s.Attributes, journal.Attribute{Key: "key", Value: text(1000)})
		}
		if err := j.Kept(start, []journal.Span{s}); err != nil {
			t.Fatal(err)
		}
		closed(t, j)
	}
	size := sizeOf(t, glob(t, dir, "*-kept-spans.jsonl.gz"))
	small := open(t, dir, size) // the next one has less
	if _, err := small.Profile(large(start, 10, 1000)); err != nil {
		t.Error(err)
	}
	left := read(small).spans
	if s := small.Stats(); s.Bytes > size || len(left) < 3 || len(left) > 5 {
		t.Fatalf("%d of 6 spans are left, want some: %+v, want %d bytes at most", len(left), s, size)
	}
	if !strings.Contains(left[0], fmt.Sprintf("%016x", 6)) {
		t.Errorf("the newest span that is left is %.100q, want that of the last process", left[0])
	}
}

// What a later version has written makes room as the files of this one do.
func TestLaterVersionMakesRoom(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	later := filepath.Join(filepath.Dir(glob(t, dir, "*.pprof.gz")[0]), "20261101T115500.000000000Z-spans.jsonl.gz")
	writeGzip(t, later, `{"format":"spanprof spans","version":2}`+"\n")
	second := open(t, dir, 50_000)
	if got := read(second); len(got.damaged) != 1 {
		t.Errorf("%+v", got)
	}
	for i := range 10 {
		if _, err := os.Stat(later); err != nil && second.Stats().Removed == 0 {
			t.Fatalf("it went though there was room: %v", err)
		}
		if _, err := second.Profile(large(start.Add(time.Duration(i+1)*time.Minute), 10, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(later); err == nil || second.Stats().Bytes > 50_000 {
		t.Errorf("the oldest file is there still: %+v", second.Stats())
	}
}

// The spans that outlive others keep to a quarter, with the first of them, in more than one
// file too. The old files stay until the new ones are there.
func TestKeptSpansHaveAQuarter(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	for _, n := range []int{20, 200} {
		dir := t.TempDir()
		const bytes = 400_000
		j := open(t, dir, bytes)
		var spans []journal.Span
		for i := range n {
			s := span(i + 1)
			for range 20 { // about 12 kB
				s.Attributes = append(s.Attributes, journal.Attribute{Key: "key", Value: text(1000)})
			}
			spans = append(spans, s)
		}
		for i := range 60 { // windows have taken all
			if _, err := j.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 3 {
			if err := j.Kept(start.Add(time.Duration(round)*time.Second), spans); err != nil {
				t.Fatal(err)
			}
			size := sizeOf(t, glob(t, dir, "*-kept-spans.jsonl.gz"))
			s := j.Stats()
			if size == 0 || size > bytes/4 || s.Bytes > bytes || s.KeptLeft == 0 || s.KeptLeft >= n {
				t.Errorf("%d spans, round %d: %d bytes of kept spans, want some, and at most a quarter of %d: %+v", n, round, size, bytes, s)
			}
		}
		left := j.Stats().KeptLeft
		closed(t, j)
		got := read(open(t, dir, bytes)).spans
		if len(got) != n-left {
			t.Fatalf("%d spans are there, want %d of %d", len(got), n-left, n)
		}
		for i, s := range got {
			if want := fmt.Sprintf("SpanID:%016x ", i+1); !strings.Contains(s, want) {
				t.Fatalf("span %d is %.100q, want %s", i, s, want)
			}
		}
	}
}

// The first spans are read first, of many files too.
func TestKeptSpansOfManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	dir := t.TempDir()
	j := open(t, dir, maxBytes)
	var spans []journal.Span
	for i := range 30 {
		s := span(i + 1)
		s.Attributes = append(s.Attributes, journal.Attribute{Key: "key", Value: strings.Repeat("a", 1<<20)})
		spans = append(spans, s)
	}
	if err := j.Kept(start, spans); err != nil {
		t.Fatal(err)
	}
	if n := len(glob(t, dir, "*-kept-spans.jsonl.gz")); n < 3 {
		t.Fatalf("%d files, want some", n)
	}
	closed(t, j)
	got := read(open(t, dir, maxBytes)).spans
	if len(got) != len(spans) {
		t.Fatalf("%d spans are there, want %d", len(got), len(spans))
	}
	for i, s := range got {
		if want := fmt.Sprintf("SpanID:%016x ", i+1); !strings.Contains(s, want) {
			t.Fatalf("span %d is %.100q, want %s", i, s, want)
		}
	}
}

// Where the new file cannot be written, the old one stays.
func TestKeptSpansStayWhereNewOnesFail(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, maxBytes)
	if err := j.Kept(start, []journal.Span{span(1)}); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	closed(t, j)
	if err := j.Kept(start, []journal.Span{span(2)}); err == nil || !slices.Equal(filesOf(t, dir), before) {
		t.Errorf("%v: files %q, want %q", err, filesOf(t, dir), before)
	}
}

// Of processes that come one after the other, all files together keep to the bound, and the
// spans that outlive others to a quarter, whatever each has written and however it ended.
func TestBoundOfManyRuns(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const bytes = 200_000
	dir := t.TempDir()
	at := start
	for run := range 6 {
		j := openWith(t, dir, journal.Config{MaxBytes: bytes, Rank: func(s *profile.Sample) int {
			if rank := int(s.Label["rank"][0][0] - '0'); rank < 3 {
				return rank
			}
			return journal.NoRank
		}})
		for _, f := range j.Files() {
			if f.Type == journal.KeptSpans && r.IntN(4) > 0 { // memory has no room for the others
				j.Taken(f)
			}
		}
		for step := range 40 {
			at = at.Add(time.Minute)
			var err error
			switch r.IntN(4) {
			case 0:
				var spans []journal.Span
				for i := range r.IntN(15) {
					s := span(1000*run + 20*step + i)
					for range r.IntN(20) {
						s.Attributes = append(s.Attributes, journal.Attribute{Key: "key", Value: text(1000)})
					}
					spans = append(spans, s)
				}
				err = j.Kept(at, spans)
				kept := sizeOf(t, glob(t, dir, "*-kept-spans.jsonl.gz"))
				if kept > bytes/4 {
					t.Fatalf("seed %d, run %d, step %d: %d bytes of kept spans, want at most a quarter of %d", seed, run, step, kept, bytes)
				}
			case 1:
				_, err = j.Spans(at, nil, []journal.Span{span(step)})
			default:
				_, err = j.Profile(large(at, 10, 100<<r.IntN(5)))
			}
			if err != nil {
				t.Fatalf("seed %d, run %d, step %d: %v", seed, run, step, err)
			}
			size := sizeOf(t, append(glob(t, dir, "*Z-*.gz"), glob(t, dir, filepath.Join("kept", "*.gz"))...))
			if s := j.Stats(); size > bytes || s.Bytes != size {
				t.Fatalf("seed %d, run %d, step %d: %d bytes, want at most %d: %+v", seed, run, step, size, bytes, s)
			}
		}
		closed(t, j)
	}
}
