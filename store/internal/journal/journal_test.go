// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/journal"
)

const maxBytes = 1 << 20

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// window returns a CPU profile with a sample of value.
func window(at time.Time, value int64) *exporter.Profile {
	f := &profile.Function{ID: 1, Name: "main.slow"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	return exporter.NewParsedProfile(
		exporter.Window{Kind: exporter.KindCPU, Start: at, Duration: 10 * time.Second, Resource: resource.NewSchemaless(attribute.String("service.name", "shop & co"))},
		&profile.Profile{
			SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:        1e7,
			DurationNanos: 1e10,
			Function:      []*profile.Function{f},
			Location:      []*profile.Location{l},
			Sample:        []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{value, value * 1e7}, Label: map[string][]string{"span_id": {"0123456789abcdef"}}}},
		},
	)
}

func span(id int) journal.Span {
	return journal.Span{
		TraceID: fmt.Sprintf("%032x", id), SpanID: fmt.Sprintf("%016x", id), Name: "GET /", Service: "shop & co",
		Start: start.UnixNano(), Duration: 5e9, Err: true, Status: "no\nsuch", LocalRoot: true, CPU: 7, CPUSamples: 1,
		Attributes: []journal.Attribute{{Key: "http.route", Value: "/<x>"}, {Key: "db.query.text", Value: "SELECT 1", Child: "query", OfChild: true}},
	}
}

func open(t *testing.T, dir string, maxBytes int64) *journal.Journal {
	t.Helper()
	return openWith(t, dir, journal.Config{MaxBytes: maxBytes})
}

func openWith(t *testing.T, dir string, c journal.Config) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// contents are what the files of earlier runs give, as texts, newest first.
type contents struct{ windows, spans, runs, damaged []string }

func read(j *journal.Journal) (c contents) {
	for _, err := range j.Damaged() {
		c.damaged = append(c.damaged, err.Error())
	}
	for _, r := range j.Earlier() {
		c.runs = append(c.runs, fmt.Sprintf("%+v", r.Process))
	}
	for _, f := range j.Files() {
		switch f.Type {
		case journal.Spans, journal.KeptSpans:
			windows, spans, err := j.ReadSpans(f)
			if err != nil {
				c.damaged = append(c.damaged, err.Error())
			}
			for _, s := range spans {
				c.spans = append(c.spans, fmt.Sprintf("%+v", s))
			}
			for _, w := range windows {
				c.windows = append(c.windows, fmt.Sprintf("%+v", w))
			}
		default:
			p, err := j.ReadProfile(f)
			if err != nil {
				c.damaged = append(c.damaged, err.Error())
				continue
			}
			parsed, _ := p.Parsed()
			service, _ := p.Resource().Set().Value("service.name")
			c.windows = append(c.windows, fmt.Sprint(p.Kind(), " ", p.Start().UTC().Format(time.TimeOnly), " ", p.Duration(), " ", service.AsString(), " ", parsed.Sample[0].Value, parsed.Sample[0].Label))
		}
	}
	return c
}

func write(t *testing.T, j *journal.Journal, at time.Time, value int64, spans ...journal.Span) {
	t.Helper()
	if _, err := j.Profile(window(at, value)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Spans(at.Add(10*time.Second), nil, spans); err != nil {
		t.Fatal(err)
	}
}

func TestNextRunReadsWhatWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for us")
	first := open(t, dir, maxBytes)
	write(t, first, start, 1, span(1), span(2))
	write(t, first, start.Add(10*time.Second), 2, span(3))
	if got := read(first); got.windows != nil || got.spans != nil {
		t.Errorf("the run reads itself: %+v", got)
	}
	if s := first.Stats(); s.Written != 4 || s.Failed != 0 || s.Bytes == 0 {
		t.Errorf("Stats %+v, want 4 written", s)
	}
	if got := read(open(t, dir, maxBytes)); got.windows != nil || got.damaged != nil {
		t.Errorf("a run that goes on is read: %+v", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Profile(window(start, 1)); err != exporter.ErrShutdown { //nolint:errorlint // as it is
		t.Errorf("Profile after Close: %v", err)
	}

	second := open(t, dir, maxBytes)
	got := read(second)
	labels := " map[span_id:[0123456789abcdef]]"
	wantWindows := []string{"cpu 12:00:10 10s shop & co [2 20000000]" + labels, "cpu 12:00:00 10s shop & co [1 10000000]" + labels}
	wantSpans := []string{fmt.Sprintf("%+v", span(3)), fmt.Sprintf("%+v", span(1)), fmt.Sprintf("%+v", span(2))}
	if !slices.Equal(got.windows, wantWindows) || !slices.Equal(got.spans, wantSpans) || got.damaged != nil {
		t.Errorf("got  %+v\nwant windows %q\nspans %q", got, wantWindows, wantSpans)
	}
	if runs := second.Earlier(); len(runs) != 1 || time.Since(runs[0].Started) > time.Hour || runs[0].PID != os.Getpid() || runs[0].Services[0].Name != "shop & co" {
		t.Errorf("earlier runs %+v, want the first", runs)
	}
}

// The oldest files of all runs make room.
func TestBoundHoldsForAllRuns(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	for i := range 10 {
		write(t, first, start.Add(time.Duration(i)*10*time.Second), int64(i))
	}
	size := first.Stats().Bytes / 10
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, size*5+size/2)
	write(t, second, start.Add(time.Hour), 100)
	if s := second.Stats(); s.Bytes > size*5+size/2 || s.Removed != 6 {
		t.Errorf("Stats %+v, want at most %d bytes and 6 removed", s, size*5+size/2)
	}
	if got := read(second); len(got.windows) != 4 || !strings.HasPrefix(got.windows[0], "cpu 12:01:30") {
		t.Errorf("left are %q", got.windows)
	}
	for i := range 5 {
		write(t, second, start.Add(2*time.Hour+time.Duration(i)*time.Second), 1)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := open(t, dir, maxBytes)
	if n := len(third.Earlier()); n != 1 {
		t.Errorf("%d earlier runs, want that with files", n)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("directories %v, want those of two runs", entries)
	}
}

// Every change of a bit is either harmless or seen, and the file is set aside.
func TestFlippedBits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1, span(1))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, maxBytes)
	want := read(second)
	files, _ := filepath.Glob(filepath.Join(dir, "*-run-000001-*", "*.gz"))
	if len(files) != 3 || len(want.windows) != 1 || len(want.spans) != 1 {
		t.Fatalf("files %q, contents %+v", files, want)
	}
	seen := 0
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < 8*len(whole); bit += 5 { // all bits of a byte in turn
			flipped := slices.Clone(whole)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(file, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "process.json.gz") { // Open reads it
				if err := second.Close(); err != nil {
					t.Fatal(err)
				}
				second = open(t, dir, maxBytes)
			}
			got := read(second)
			if len(got.damaged) > 0 {
				seen++
				if !strings.Contains(got.damaged[0], filepath.Base(file)+".damaged") {
					t.Errorf("bit %d of %s: %q", bit, filepath.Base(file), got.damaged)
				}
				if err := os.Rename(file+".damaged", file); err != nil {
					t.Fatal(err)
				}
				if err := second.Close(); err != nil {
					t.Fatal(err)
				}
				second = open(t, dir, maxBytes) // the file was forgotten
				got = contents{windows: want.windows, spans: want.spans, runs: want.runs}
			}
			if !slices.Equal(got.windows, want.windows) || !slices.Equal(got.spans, want.spans) || !slices.Equal(got.runs, want.runs) {
				t.Fatalf("bit %d of %s: got %+v, want %+v", bit, filepath.Base(file), got, want)
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d flipped bits were seen", seen)
	if seen < 200 {
		t.Errorf("%d damaged files, want nearly all", seen)
	}
}

// What a later version has written stays for it, through a return to this one.
func TestUnknownVersion(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.pprof.gz"))
	run := filepath.Dir(files[0])
	later := map[string]string{
		"20261101T120500.000000000Z-spans.jsonl.gz":      `{"format":"spanprof spans","version":2,"windows":7}` + "\n",
		"20261101T120500.000000000Z-kept-spans.jsonl.gz": `{"format":"spanprof spans","version":2}` + "\n" + `{"span_id":3}` + "\n",
		"20261101T120500.000000000Z-sums.gz":             "a file of another kind",
		"process.json.gz":                                `{"format":"spanprof process","version":2,"pid":"a text"}`,
	}
	for name, text := range later {
		writeGzip(t, filepath.Join(run, name), text)
	}
	for range 2 {
		second := open(t, dir, maxBytes)
		bytes := second.Stats().Bytes
		got := read(second)
		if len(got.windows) != 1 || len(got.damaged) != 3 || strings.Count(strings.Join(got.damaged, ""), `version 2, and this program reads "spanprof `) != 3 {
			t.Errorf("%+v", got)
		}
		if err := second.Kept(start, []journal.Span{span(1)}); err != nil {
			t.Error(err)
		}
		if s := second.Stats(); s.SetAside != 0 || s.Unreadable != 3 || s.Bytes <= bytes || s.Removed != 0 {
			t.Errorf("%+v", s)
		}
		for name := range later {
			if _, err := os.Stat(filepath.Join(run, name)); err != nil {
				t.Error(err)
			}
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file} {
		if j, err := journal.Open(dir, journal.Config{MaxBytes: maxBytes}); err == nil || j != nil || !strings.HasPrefix(err.Error(), "directory "+dir) {
			t.Errorf("Open(%q): %v", dir, err)
		}
	}
}
