// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/viewer"
)

// newProfile returns a profile of one function, in which a span is.
func newProfile(function, id string, start time.Time, value int64) *profile.Profile {
	f := &profile.Function{ID: 1, Name: function}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		TimeNanos:  start.UnixNano(), DurationNanos: 10e9,
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{value / 1e7, value}, Label: map[string][]string{
			"profile_id": {id}, "span_id": {id}, "span_name": {"GET /search"}, "set": {"own"},
		}}},
	}
}

func write(t *testing.T, path string, p *profile.Profile) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func get(t *testing.T, p *Page, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	viewer.Handler(p).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

const (
	first  = "00000000000000a1"
	second = "00000000000000b2"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// One set has its spans, a name and nothing to wait for.
func TestSpans(t *testing.T) {
	dir := t.TempDir()
	sources := []string{
		write(t, filepath.Join(dir, "a.pprof"), newProfile("main.work", first, start, 2e9)),
		write(t, filepath.Join(dir, "b.pprof"), newProfile("main.work", second, start.Add(10*time.Second), 5e9)),
		write(t, filepath.Join(dir, "c.pprof"), newProfile("main.work", first, start.Add(20*time.Second), 2e9)),
	}
	p, err := Load(t.Context(), []Set{{"all", sources}}, 8<<20, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if path := p.Path(); path != "/" {
		t.Errorf("path %q", path)
	}
	if list := get(t, p, "/?format=text&order=cpu"); !strings.Contains(list, second) || !strings.Contains(list, "4.00 s") || !strings.Contains(list, "GET /search") {
		t.Errorf("spans:\n%s", list)
	}
	if text := get(t, p, "/?query=.cpu{profile_id=%22"+first+"%22}&format=text"); !strings.Contains(text, "CPU time 4.00 s in 400 samples") || !strings.Contains(text, "baseline") {
		t.Errorf("a span:\n%s", text)
	}
}

// What cannot be read or does not fit is reported.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.pprof"), newProfile("main.work", first, start, 2e9))
	if err := os.WriteFile(filepath.Join(dir, "b.pprof"), []byte("no profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	var reported []error
	p, err := Load(t.Context(), []Set{{"all", []string{dir}}}, 8<<20, func(err error) { reported = append(reported, err) })
	if err != nil || len(reported) != 1 || !strings.Contains(reported[0].Error(), "b.pprof") {
		t.Fatalf("%+v, reported %q: %v", p, reported, err)
	}
	if list := get(t, p, "/?format=text"); !strings.Contains(list, "1 of 2 profiles could not be read") {
		t.Errorf("the page:\n%s", list)
	}
	if err := os.Remove(filepath.Join(dir, "a.pprof")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), []Set{{"all", []string{dir}}}, 8<<20, func(error) {}); err == nil || !strings.Contains(err.Error(), "cannot show any of 1 profiles") {
		t.Errorf("error %v", err)
	}
}

// Profiles that do not fit leave the newest ones.
func TestMaxBytes(t *testing.T) {
	big := newProfile("main.work", first, start, 2e9)
	for i := range 60_000 {
		f := &profile.Function{ID: uint64(i + 2), Name: "main.function"}
		l := &profile.Location{ID: uint64(i + 2), Line: []profile.Line{{Function: f, Line: int64(i)}}}
		big.Function, big.Location = append(big.Function, f), append(big.Location, l)
		big.Sample = append(big.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1, 1e7}})
	}
	dir := t.TempDir()
	sources := []string{write(t, filepath.Join(dir, "a.pprof"), newProfile("main.work", first, start, 2e9)), write(t, filepath.Join(dir, "b.pprof"), big)}
	reported := 0
	p, err := Load(t.Context(), []Set{{"all", sources}}, 8<<20, func(error) { reported++ })
	if err != nil || reported != 1 {
		t.Fatalf("%d errors reported: %v", reported, err)
	}
	if notes := strings.Join(p.Notes, "; "); !strings.Contains(notes, "1 of 2 profiles are left out, as they do not fit into 8 MiB") {
		t.Errorf("notes %q", notes)
	}
}

// A file that is named twice is shown once. It is not unreadable.
func TestNamedTwice(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a.pprof"), newProfile("main.work", first, start, 2e9))
	reports := 0
	p, err := Load(t.Context(), []Set{{"all", []string{path, path}}}, 8<<20, func(error) { reports++ })
	if err != nil || reports != 1 || len(p.Notes) > 0 {
		t.Fatalf("%d reports, %v, notes %q", reports, err, p.Notes)
	}
	if text := get(t, p, "/?query=.cpu&format=text"); !strings.Contains(text, "CPU time 2.00 s") {
		t.Errorf("twice:\n%s", text)
	}
}

// load loads one set, and returns what was skipped.
func load(t *testing.T, profiles ...*profile.Profile) (p *Page, skipped []string, err error) {
	t.Helper()
	dir := t.TempDir()
	var sources []string
	for i, of := range profiles {
		sources = append(sources, write(t, filepath.Join(dir, strconv.Itoa(i)+".pprof"), of))
	}
	p, err = Load(t.Context(), []Set{{"all", sources}}, 8<<20, func(err error) { skipped = append(skipped, err.Error()) })
	return p, skipped, err
}

// compared loads two sets of a profile each, and returns the path to open.
func compared(t *testing.T, before, after *profile.Profile) (*Page, string) {
	t.Helper()
	dir := t.TempDir()
	sets := []Set{{"before", []string{write(t, filepath.Join(dir, "a.pprof"), before)}}, {"after", []string{write(t, filepath.Join(dir, "b.pprof"), after)}}}
	p, err := Load(t.Context(), sets, 8<<20, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Path()
}

// column returns a profile with one column.
func column(name, unit string, values ...int64) *profile.Profile {
	p := newProfile("main.work", first, start, 1e7)
	p.SampleType, p.PeriodType = []*profile.ValueType{{Type: name, Unit: unit}}, nil
	p.Sample = p.Sample[:0]
	for _, v := range values {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{v}})
	}
	return p
}

// The page shows the columns of other tools, and sums of several units.
func TestColumns(t *testing.T) {
	p, skipped, err := load(t, column("CPU", "ms", 70), column("cpu", "nanoseconds", 1e7), column("time", "us", 3e6), column("lock_time", "ms", 2), column("threadcreate", "count", 4), column("cache-misses", "count", 5), column("space", "KB", 2), column("lock_count", "count", 6))
	if err != nil || len(skipped) > 0 || len(p.Notes) > 0 {
		t.Fatalf("%v, skipped %q, notes %q", err, skipped, p.Notes)
	}
	for query, want := range map[string]string{
		".cpu": "CPU time 80.0 ms", ".wall": "wall time 3.00 s", ".contention_duration": "time waited for mutexes or channels 2.00 ms",
		".threadcreate": "threads created 4", ".other_cache_misses": "cache_misses 5",
		".other_inuse_space": "inuse_space 2.00 KiB", ".other_contentions": "contentions 6",
	} {
		if text := get(t, p, "/?query="+query+"&format=text"); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", query, want, text)
		}
	}
	if list := get(t, p, "/?format=json"); !strings.Contains(list, `"type":"other_cache_misses"`) || !strings.Contains(list, `"type":"threadcreate"`) {
		t.Errorf("the list:\n%s", list)
	}
}

// A comparison is of the first type that both sides have. It may be a column of another tool.
func TestComparedType(t *testing.T) {
	units := map[string]string{"cpu": "nanoseconds", "goroutine": "count", "cache-misses": "count"}
	columnsOf := func(names ...string) *profile.Profile {
		p := column("", "", 5)
		p.SampleType, p.Sample[0].Value = nil, make([]int64, len(names))
		for i, name := range names {
			p.SampleType, p.Sample[0].Value[i] = append(p.SampleType, &profile.ValueType{Type: name, Unit: units[name]}), 5
		}
		return p
	}
	for _, test := range []struct {
		before, after []string
		want          string
	}{
		{[]string{"cache-misses"}, []string{"cache-misses"}, ".other_cache_misses{"},
		{[]string{"goroutine", "cache-misses", "cpu"}, []string{"cache-misses", "cpu", "goroutine"}, ".cpu{"},
		{[]string{"cpu", "cache-misses", "goroutine"}, []string{"cache-misses", "goroutine"}, ".goroutine{"},
		{[]string{"cpu"}, []string{"goroutine"}, ""},
	} {
		p, path := compared(t, columnsOf(test.before...), columnsOf(test.after...))
		u, err := url.Parse(path)
		if err != nil || !strings.HasPrefix(u.Query().Get("query"), test.want) || (path == "/") != (test.want == "") || (len(p.Notes) == 0) != (test.want != "") {
			t.Errorf("%v and %v: path %s, %v, notes %q", test.before, test.after, path, err, p.Notes)
		}
	}
}

// Differences show the size of each change, also if their sum is zero. Values that are too large have a note.
func TestDifference(t *testing.T) {
	p, _, err := load(t, column("cpu", "ms", 50, -50))
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "0.pprof has values below zero") {
		t.Fatalf("%v, notes %q", err, p.Notes)
	}
	for query, want := range map[string]string{".cpu": "CPU time 100 ms", `.cpu{change="more"}`: "CPU time 50.0 ms", `.cpu{change="less"}`: "CPU time 50.0 ms"} {
		if text := get(t, p, "/?query="+url.QueryEscape(query)+"&format=text"); !strings.Contains(text, want) || !strings.Contains(text, "values below zero") {
			t.Errorf("%s: no %q in\n%s", query, want, text)
		}
	}
	if p, _, err := load(t, column("cpu", "ns", math.MaxInt64, 5), column("cpu", "s", math.MaxInt64)); err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "0.pprof and 1 more have values that are too large") {
		t.Fatalf("%v, notes %q", err, p.Notes)
	}
}

// Profiles without samples are reported. It is an error if there are no others.
func TestEmpty(t *testing.T) {
	if _, _, err := load(t, column("cpu", "ns"), column("cpu", "ns", 0)); err == nil || !strings.Contains(err.Error(), "cannot show any of 2 profiles: ") || !strings.Contains(err.Error(), "0.pprof and 1 more have no samples") {
		t.Errorf("got %v", err)
	}
	p, _, err := load(t, column("cpu", "ns", 5), column("cpu", "ns"))
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "1.pprof has no samples") {
		t.Errorf("%v, notes %q", err, p.Notes)
	}
}
