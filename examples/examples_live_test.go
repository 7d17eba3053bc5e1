// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

// Package examples runs the examples as a newcomer does: as programs, over
// real sockets.
package examples

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestQuickstart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans.json")
	p := start(t, "quickstart", "-spans", file)

	// The search with the most CPU, of the searches with exported attributes. The sums are of all
	// searches, and of functions of regexp and their callees.
	var expensive span
	var profile view
	var searches, inSearches, inRegexp int64
	p.poll(func() string {
		searches, inSearches, inRegexp = 0, 0, 0
		for _, s := range spansOf(t, file) {
			if s.Name != "GET /search" || s.attribute("pyroscope.profile.url") == "" {
				continue
			}
			// The span may be in several windows, and the last window is still open.
			v := getJSON[view](t, withFormat(t, s.attribute("pyroscope.profile.url"), "json"))
			if !v.Span.Complete {
				continue
			}
			searches++
			inSearches += v.Total
			inRegexp += v.Flame.under("regexp.")
			if v.Total > profile.Total {
				expensive, profile = s, v
			}
		}
		const wantMost, want = 150 * time.Millisecond, time.Second
		if got, gotMost := time.Duration(inSearches), time.Duration(profile.Total); got < want || gotMost < wantMost {
			return fmt.Sprintf("got %v of CPU in %d searches, %v in one; want %v, and %v in one", got, searches, gotMost, want, wantMost)
		}
		return ""
	})
	// The runtime has a share of their CPU, for memory and preemption. It depends on the version
	// of Go and on the load of the machine.
	if inRegexp*5 < inSearches*4 {
		t.Errorf("regexp's functions have %d of the %d ns of searches, want four fifths", inRegexp, inSearches)
	}
	if in := profile.Flame.under("regexp."); in*2 < profile.Total {
		t.Errorf("regexp's functions have %d of the %d ns of the most expensive one, want half", in, profile.Total)
	}

	both := getJSON[comparison](t, withFormat(t, expensive.attribute("pyroscope.profile.baseline.url"), "json"))
	if both.Right.Total != profile.Total {
		t.Errorf("right side of the baseline: %d %s, want the span's %d", both.Right.Total, both.Right.Unit, profile.Total)
	}
	if both.Left.Total <= both.Right.Total {
		t.Errorf("baseline of %d %s is not above the span's %d", both.Left.Total, both.Left.Unit, both.Right.Total)
	}

	share, samples := handlerShare(t, get(t, p.page+"?query=.cpu&format=pprof&labels=ids", http.StatusOK))
	t.Logf("%.1f %% of the handlers' CPU carries a span, of %d samples", 100*share, samples)
	if share < 0.9 {
		t.Errorf("only %.1f %% of the handlers' CPU carries a span, want 90 %%", 100*share)
	}
	for _, format := range []string{"json", "text", "pprof"} {
		get(t, withFormat(t, expensive.attribute("pyroscope.profile.url"), format), http.StatusOK)
	}
	root, _, _ := strings.Cut(p.page, "/debug/")
	if page := get(t, root+"/", http.StatusOK); !strings.Contains(string(page), "<html") {
		t.Errorf("/ does not lead to the page:\n%s", page)
	}

	out := p.stop()
	summary := regexp.MustCompile(`(\d+) spans ended; spans carry ([\d.]+) % of the process's CPU; profiles: store: [1-9]\d* exported\n$`)
	if !summary.MatchString(out) {
		t.Errorf("summary missing or with dropped profiles:\n%s", out)
	}
	roots := 0
	for _, s := range spansOf(t, file) {
		if s.SpanContext.TraceFlags != "01" || !s.localRoot() {
			continue
		}
		roots++
		if id := s.attribute("pyroscope.profile.id"); id != s.SpanContext.SpanID {
			t.Errorf("span %s has pyroscope.profile.id %q", s.SpanContext.SpanID, id)
		}
		for _, key := range []string{"pyroscope.profile.url", "pyroscope.profile.baseline.url"} {
			if !strings.HasPrefix(s.attribute(key), p.page) || !strings.Contains(s.attribute(key), s.SpanContext.SpanID) {
				t.Errorf("span %s has %s %q", s.SpanContext.SpanID, key, s.attribute(key))
			}
		}
	}
	if m := summary.FindStringSubmatch(out); m != nil && m[1] != strconv.Itoa(roots) {
		t.Errorf("%s spans ended by the summary, %d local roots in the file", m[1], roots)
	}
}

// handlerShare returns the number of samples within the service's handlers, and the share of
// them with a span id.
func handlerShare(t *testing.T, pprof []byte) (share float64, samples int64) {
	t.Helper()
	prof, err := profile.ParseData(pprof)
	if err != nil {
		t.Fatal(err)
	}
	var labelled int64
	for _, s := range prof.Sample {
		if !inHandler(s) {
			continue
		}
		samples += s.Value[0]
		if len(s.Label["span_id"]) > 0 {
			labelled += s.Value[0]
		}
	}
	if samples == 0 {
		t.Fatal("no samples in handlers")
	}
	return float64(labelled) / float64(samples), samples
}

func inHandler(s *profile.Sample) bool {
	for _, location := range s.Location {
		for _, line := range location.Line {
			switch line.Function.Name {
			case "main.sources.search", "main.sources.archive", "main.sources.slow":
				return true
			}
		}
	}
	return false
}

func TestStdout(t *testing.T) {
	p := start(t, "stdout")
	var root, child span
	for _, s := range readSpans(strings.NewReader(p.text())) {
		if s.Name == "RootProcess" {
			root = s
		} else {
			child = s
		}
	}
	if id := root.attribute("pyroscope.profile.id"); id == "" || id != root.SpanContext.SpanID {
		t.Errorf("root span has pyroscope.profile.id %q, want %q", id, root.SpanContext.SpanID)
	}
	if id := child.attribute("pyroscope.profile.id"); child.Name != "ChildProcess" || id != "" {
		t.Errorf("child %q has pyroscope.profile.id %q in root scope", child.Name, id)
	}
	text := string(get(t, withFormat(t, root.attribute("pyroscope.profile.url"), "text"), http.StatusOK))
	for _, function := range []string{"main.rootWork", "main.childWork"} {
		if !strings.Contains(text, function) {
			t.Errorf("the root span's profile has no %s, want its own work and its child's:\n%s", function, text)
		}
	}
	getJSON[comparison](t, withFormat(t, root.attribute("pyroscope.profile.baseline.url"), "json"))
	if v := getJSON[view](t, withFormat(t, p.page, "json")); v.Total == 0 || v.Note != "" {
		t.Errorf("%s: %d %s, with a note: %q", p.page, v.Total, v.Unit, v.Note)
	}
	p.stop()
}

// The waits of a checkout name the span that held the lock, by span, by name and in a pprof.
func TestExactTimes(t *testing.T) {
	type list struct {
		Spans []struct {
			ProfileID, Name, Query string
			HasExactTimes          bool
		}
	}
	type blocked struct {
		State, Span string
		DurationNs  int64
	}
	type exact struct {
		Span struct {
			Name       string
			ExactTimes struct {
				Waits []struct {
					blocked
					Blockers []struct {
						Span, SpanID string
						Did          []struct{ State, Child string }
					}
				}
			}
		}
	}
	p := start(t, "exacttimes")
	var query, holder string
	var waited int64 // for the holder
	p.poll(func() string {
		checkouts := 0
		for _, s := range getJSON[list](t, p.page+"?format=json").Spans {
			if s.Name != "GET /checkout" || !s.HasExactTimes {
				continue
			}
			checkouts++
			for _, w := range getJSON[exact](t, p.page+"?format=json&query="+url.QueryEscape(s.Query)).Span.ExactTimes.Waits {
				if w.State == "mutex" && len(w.Blockers) > 0 && w.Blockers[0].Span == "refresh cache" && len(w.Blockers[0].Did) > 0 && w.Blockers[0].Did[0].Child == "load from disk" {
					query, holder, waited = s.Query, w.Blockers[0].SpanID, w.DurationNs
					return ""
				}
			}
		}
		return fmt.Sprintf("got %d checkouts with exact times, want 1 that waited for a lock during a load from disk", checkouts)
	})
	of := getJSON[exact](t, p.page+"?format=json&query="+url.QueryEscape(fmt.Sprintf(".cpu{profile_id=%q}", holder)))
	if of.Span.Name != "refresh cache" {
		t.Errorf("the span %s that held the lock is %q", holder, of.Span.Name)
	}
	waits, err := profile.ParseData(get(t, p.page+"waits?query="+url.QueryEscape(query), http.StatusOK))
	if err != nil {
		t.Fatal(err)
	}
	var held int64
	for _, s := range waits.Sample {
		if s.HasLabel("ended_by_span_id", holder) {
			held += s.Value[1]
		}
	}
	if held != waited {
		t.Errorf("the pprof has %d ns of waits for %s, the JSON %d", held, holder, waited)
	}
	waits, err = profile.ParseData(get(t, p.page+"waits?query="+url.QueryEscape(`.cpu{span_name="GET /checkout"}`), http.StatusOK))
	if err != nil {
		t.Fatal(err)
	}
	held = 0
	for _, s := range waits.Sample {
		if s.HasLabel("state", "mutex") && s.HasLabel("ended_by_span_name", "refresh cache") {
			held += s.Value[1]
		}
	}
	if held < waited {
		t.Errorf("by name the checkouts waited %d ns for refresh cache, want at least %d", held, waited)
	}
	p.stop()
}

func TestManual(t *testing.T) {
	p := start(t, "manual")
	for _, query := range []string{`.cpu{profile_id="order-4711"}`, `manual.cpu{profile_id="order-4712"}`, `{profile_id=~"order-.*"}`} {
		v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(query))
		if v.Total == 0 {
			t.Errorf("%s: no samples: %s", query, v.Empty)
		}
	}
	list := getJSON[struct {
		Spans []struct {
			ProfileID, Name string
			Manual          bool
		}
	}](t, p.page+"?format=json")
	found := map[string]bool{}
	for _, s := range list.Spans {
		if s.Manual && s.Name == "ship order" {
			found[s.ProfileID] = true
		}
	}
	for _, id := range []string{"order-4711", "order-4712", "order-4713"} {
		if !found[id] {
			t.Errorf("%s is not on the page: %v", id, list.Spans)
		}
	}
	p.stop()
}

// The program serves all paths of config.alloy, with labels, twice at once.
func TestPull(t *testing.T) {
	p := start(t, "pull")
	config, err := os.ReadFile(filepath.Join("pull", "config.alloy"))
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSuffix(p.page, "/debug/spanprof/")
	if !strings.Contains(string(config), `"service_name" = "shop"`) {
		t.Error("config.alloy does not name the service shop")
	}
	paths := regexp.MustCompile(`path +?= +?"(.+)"\n(\s+delta)?`).FindAllStringSubmatch(string(config), -1)
	if len(paths) != 9 {
		t.Fatalf("%d paths in config.alloy, want 9", len(paths))
	}
	var wg sync.WaitGroup
	for _, path := range paths {
		scrape := func(query string) (samples int, labelled bool) {
			scraped, err := profile.ParseData(get(t, root+path[1]+query, http.StatusOK))
			if err != nil {
				t.Errorf("%s: %v", path[1], err)
				return 0, false
			}
			return len(scraped.Sample), slices.ContainsFunc(scraped.Sample, func(s *profile.Sample) bool {
				return slices.Equal(s.Label["span_name"], []string{"order"}) && len(s.Label["span_id"]) == 1
			})
		}
		for range 2 {
			wg.Go(func() {
				if path[2] == "" {
					scrape("")
					return
				}
				// A busy machine has few samples a second.
				for seconds := 2; ; seconds *= 2 {
					samples, labelled := scrape(fmt.Sprint("?seconds=", seconds))
					if labelled || t.Failed() {
						return
					}
					if seconds > 8 {
						t.Errorf("%s: got %d samples in %d s, want one with the labels of a span", path[1], samples, seconds)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	p.stop()
}
