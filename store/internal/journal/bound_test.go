// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/journal"
)

// text returns n characters that do not compress to less than half.
func text(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(rand.IntN(26))
	}
	return string(b)
}

// large returns a window with samples that have a label of n bytes each.
func large(at time.Time, samples, n int) *exporter.Profile {
	w := window(at, 1)
	p, _ := w.Parsed()
	of := p.Sample[0]
	p.Sample = nil
	for i := range samples {
		p.Sample = append(p.Sample, &profile.Sample{Location: of.Location, Value: of.Value, Label: map[string][]string{"key": {text(n)}, "rank": {strconv.Itoa(i)}}})
	}
	return w
}

// Files that were set aside count, and go as the others do.
func TestDamagedFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	for i := range 10 {
		if _, err := first.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	all := first.Stats().Bytes
	closed(t, first)
	files := glob(t, dir, "*.pprof.gz")
	for _, file := range append(glob(t, dir, "process.json.gz"), files[:5]...) {
		if err := os.Truncate(file, 100); err != nil {
			t.Fatal(err)
		}
	}
	second := open(t, dir, maxBytes)
	if got := read(second); len(got.windows) != 5 || len(got.damaged) != 6 {
		t.Fatalf("%d windows, damaged %q", len(got.windows), got.damaged)
	}
	if s, size := second.Stats(), sizeOf(t, append(glob(t, dir, "*.pprof.gz"), glob(t, dir, "*.damaged")...)); s.Bytes != size || s.SetAside != 6 {
		t.Errorf("%+v, want 6 set aside and %d bytes", s, size)
	}
	closed(t, second)
	if n := len(glob(t, dir, "*.damaged")); n != 6 {
		t.Errorf("%d files set aside, want 6", n)
	}
	third := open(t, dir, all/2)
	if got := read(third); len(got.windows) != 5 || got.damaged != nil {
		t.Errorf("%d windows, damaged %q", len(got.windows), got.damaged)
	}
	if _, err := third.Profile(large(start.Add(time.Hour), 10, 1000)); err != nil {
		t.Fatal(err)
	}
	if s := third.Stats(); s.Bytes > all/2 || s.Removed < 5 || len(glob(t, dir, "*.pprof.gz.damaged")) != 0 {
		t.Errorf("%+v, want at most %d bytes: %q", s, all/2, glob(t, dir, "*.damaged"))
	}
}

// Spans that this run did not say to be Taken stay, until they have more than their share.
func TestKeptSpansOfOthersStay(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	if err := first.Kept(start, []journal.Span{span(1), span(2)}); err != nil {
		t.Fatal(err)
	}
	closed(t, first)
	second := open(t, dir, maxBytes)
	for i := range 3 {
		if err := second.Kept(start.Add(time.Duration(i)*time.Minute), []journal.Span{span(3)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(glob(t, dir, "*-kept-spans.jsonl.gz")); n != 2 {
		t.Errorf("%d files of kept spans, want that of the first run and the last one", n)
	}
	closed(t, second)
	third := open(t, dir, maxBytes)
	for _, f := range third.Files() {
		third.Taken(f)
	}
	if err := third.Kept(start, []journal.Span{span(4)}); err != nil {
		t.Fatal(err)
	}
	if got := read(third); len(got.spans) != 0 || len(glob(t, dir, "*-kept-spans.jsonl.gz")) != 1 {
		t.Errorf("what was taken is there still: %+v", got)
	}
	closed(t, third)

	// Windows never make room of what is kept; kept spans have a quarter.
	long := span(5)
	for range 8 { // about 10 kB, as they do not compress well
		long.Attributes = append(long.Attributes, journal.Attribute{Key: "key", Value: text(1000)})
	}
	var spans []journal.Span
	for range 8 {
		spans = append(spans, long)
	}
	const small = 100_000
	for range 4 { // of more than a quarter together
		j := open(t, dir, small)
		if err := j.Kept(start, spans); err != nil {
			t.Fatal(err)
		}
		closed(t, j)
	}
	last := open(t, dir, small)
	for i := range 20 {
		if _, err := last.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	kept := sizeOf(t, glob(t, dir, "*-kept-spans.jsonl.gz"))
	if kept == 0 || kept > small/4 || last.Stats().Bytes > small {
		t.Errorf("%d bytes of kept spans, want some, and at most a quarter of %d: %+v", kept, small, last.Stats())
	}
	if _, err := last.Profile(large(start.Add(time.Hour), 155, 1000)); err == nil || !strings.Contains(err.Error(), "that there can be room for") {
		t.Errorf("a window that has no room beside what is kept: %v", err)
	}
	if n := len(glob(t, dir, "*-kept-spans.jsonl.gz")); n == 0 {
		t.Error("the kept spans made room for a window")
	}
}

// Many spans, and windows with many names, are written as more files than one, each of
// which any process reads.
func TestManySpans(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	dir := t.TempDir()
	const large = 256 << 20
	first := open(t, dir, large)
	var spans []journal.Span
	for i := range 8_000 {
		s := span(i + 1)
		s.Status = strings.Repeat(fmt.Sprint(i, " "), 150)
		spans = append(spans, s)
	}
	var w journal.Window
	w.File = "a file"
	for i := range 2_000 {
		w.Names = append(w.Names, journal.Count{Name: strings.Repeat(fmt.Sprint(i, "<"), 200), Spans: int64(i)})
	}
	if left, err := first.Spans(start, []journal.Window{w, w}, spans); err != nil || left != nil {
		t.Fatalf("%d windows are left: %v", len(left), err)
	}
	if err := first.Kept(start, spans); err != nil {
		t.Fatal(err)
	}
	if err := first.Kept(start.Add(time.Minute), spans); err != nil {
		t.Fatal(err)
	}
	closed(t, first)
	files := glob(t, dir, "*-spans.jsonl.gz")
	if len(files) < 5 {
		t.Errorf("files %q, want some", files)
	}
	for _, file := range files {
		if n := unzippedLen(t, file); n > 8<<20 {
			t.Errorf("%s has %d bytes, unzipped, want 8 MiB at most", filepath.Base(file), n)
		}
	}
	second := open(t, dir, large)
	sums, names := map[journal.FileType]int{}, 0
	for _, f := range second.Files() {
		windows, spans, err := second.ReadSpans(f)
		if err != nil {
			t.Error(err)
		}
		sums[f.Type] += len(spans)
		for _, w := range windows {
			names += len(w.Names)
		}
	}
	if sums[journal.Spans] != len(spans) || sums[journal.KeptSpans] != len(spans) || names != 2*len(w.Names) {
		t.Errorf("read %v spans and %d names", sums, names)
	}
}

// What could not be written comes back, so that it can be tried again.
func TestCountsThatAreNotWritten(t *testing.T) {
	j := open(t, t.TempDir(), maxBytes)
	closed(t, j)
	left, err := j.Spans(start, []journal.Window{{File: "a", Names: []journal.Count{{Name: "GET /"}}}}, nil)
	if err == nil || len(left) != 1 || left[0].File != "a" || len(left[0].Names) != 1 || j.Stats().Failed != 1 {
		t.Errorf("left %+v, %v", left, err)
	}
}

// A window of which a file has some names is told from those of which none has.
func TestCountsThatAreWrittenInPart(t *testing.T) {
	j := open(t, t.TempDir(), 1<<19)
	// The first file is small, and the second one larger than the bound.
	long := journal.Window{File: "begun"}
	for size := 0; size < 4<<20; size += 8 << 10 {
		name := strings.Repeat("a", 8<<10)
		if size > 5<<19 {
			name = text(8 << 10)
		}
		long.Names = append(long.Names, journal.Count{Name: name})
	}
	left, err := j.Spans(start, []journal.Window{long, {File: "whole", Names: []journal.Count{{Name: "GET /"}}}}, nil)
	if s := j.Stats(); err == nil || s.Written != 1 || s.Failed != 1 || len(left) < 2 {
		t.Fatalf("%d parts are left, %+v, %v", len(left), s, err)
	}
	for _, w := range left {
		if w.Begun != (w.File == "begun") {
			t.Errorf("%s: begun %v", w.File, w.Begun)
		}
	}
	again, err := j.Spans(start, left, nil)
	if err == nil || len(again) != len(left) || !again[0].Begun {
		t.Errorf("%d parts are left, begun %v, %v", len(again), again[0].Begun, err)
	}
}

// A window that the next process would not read is not written, and one that a process
// with a larger store has written stays.
func TestLargeWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	dir := t.TempDir()
	w := large(start, 20, 1<<19) // 10 MiB
	small := open(t, dir, 64<<20)
	if _, err := small.Profile(w); err == nil || !strings.Contains(err.Error(), "raise WithMaxBytes") || small.Stats().Failed != 1 {
		t.Errorf("%v, %+v", err, small.Stats())
	}
	closed(t, small)
	wide := journal.Config{MaxBytes: 64 << 20, MaxUnzipped: 32 << 20}
	first := openWith(t, dir, wide)
	if _, err := first.Profile(w); err != nil {
		t.Fatal(err)
	}
	closed(t, first)
	second := open(t, dir, 64<<20)
	if got := read(second); len(got.windows) != 0 || len(got.damaged) != 1 || !strings.Contains(got.damaged[0], "more than 8 MiB") {
		t.Errorf("%d windows, %q", len(got.windows), got.damaged)
	}
	if s := second.Stats(); s.Unreadable != 1 || s.SetAside != 0 {
		t.Errorf("%+v", s)
	}
	closed(t, second)
	if got := read(openWith(t, dir, wide)); got.damaged != nil || len(got.windows) != 1 {
		t.Errorf("%d windows, %q", len(got.windows), got.damaged)
	}
}

// Kept samples are looked at once when they are to make room, and again where some of a
// file stay.
func TestTrimReadsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	ranked := 0
	rank := func(s *profile.Sample) int {
		ranked++
		switch n := s.Label["rank"][0]; {
		case strings.HasPrefix(n, "1"): // every tenth or so
			return 2
		case strings.HasPrefix(n, "2"):
			return 0
		}
		return journal.NoRank
	}
	dir := t.TempDir()
	const bytes, samples, windows = 200_000, 100, 200
	j := openWith(t, dir, journal.Config{MaxBytes: bytes, Rank: rank})
	for i := range windows {
		if _, err := j.Profile(large(start.Add(time.Duration(i)*time.Minute), samples, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if s := j.Stats(); s.Bytes > bytes || s.Failed > 0 {
		t.Errorf("%+v", s)
	}
	kept := glob(t, dir, filepath.Join("kept", "*"))
	size := sizeOf(t, kept)
	if len(kept) == 0 || size > bytes/4 {
		t.Errorf("%d files have %d bytes of kept samples, want some, and at most a quarter of %d", len(kept), size, bytes)
	}
	perWindow := ranked / windows
	t.Logf("%d samples were ranked for each window of %d", perWindow, samples)
	if perWindow > 3*samples {
		t.Errorf("%d samples were ranked for each window of %d", perWindow, samples)
	}
}

// Files that a killed process left half written go, but for those that another one may
// be writing.
func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	run := filepath.Dir(glob(t, dir, "*.pprof.gz")[0])
	if err := os.Mkdir(filepath.Join(run, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, in := range []string{dir, run, filepath.Join(run, "kept")} {
		for _, name := range []string{"spanprof-1.tmp", "spanprof-2.tmp"} {
			if err := os.WriteFile(filepath.Join(in, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(filepath.Join(in, "spanprof-1.tmp"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(open(t, dir, maxBytes)); len(got.windows) != 1 || got.damaged != nil {
		t.Errorf("%+v", got)
	}
	for _, in := range []string{dir, run, filepath.Join(run, "kept")} {
		left, _ := filepath.Glob(filepath.Join(in, "*.tmp"))
		if !slices.Equal(left, []string{filepath.Join(in, "spanprof-2.tmp")}) {
			t.Errorf("left are %q, want the new file alone", left)
		}
	}
}

// A file with more lines than a process writes is damaged: each would take the memory of a span.
func TestLinesThatAreNoSpans(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1, span(1))
	closed(t, first)
	file := glob(t, dir, "*-spans.jsonl.gz")[0]
	writeGzip(t, file, `{"format":"spanprof spans","version":1}`+"\n"+strings.Repeat("{}\n", 1000))
	second := open(t, dir, maxBytes)
	if got := read(second); len(got.spans) != 0 || len(got.damaged) != 1 || !strings.Contains(got.damaged[0], "lines that are no spans") {
		t.Errorf("%d spans, %q, want the file set aside", len(got.spans), got.damaged)
	}
}
