// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck_test

import (
	"errors"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

// healthy is a busy program without a mistake.
func healthy() *selfcheck.Facts {
	now := time.Now()
	return &selfcheck.Facts{
		Profiler: profiler.Status{
			Running: true, Profilers: 1, Windows: 400, CPUEnd: now, CPU: "profiling",
			Kinds: []exporter.Kind{exporter.KindCPU, exporter.KindMutex, exporter.KindBlock, exporter.KindWall},
			Wall:  profiler.WallStatus{Rounds: 110, RoundsSkipped: 890},
			Lanes: []exporter.Status{{Name: "store", LastError: errors.New("once"), LastErrorTime: now.Add(-1), LastSuccess: now}},
		},
		MutexFraction: 100, BlockEvents: 1, Goroutines: 300,
		Store: store.Stats{
			SpansEnded: 20_000, SpansNotKept: 19_000, SpansRunning: 600, CPUTime: time.Hour, CPUTimeLabelled: 50 * time.Minute,
			Windows: 90, WindowsReceived: 400, WindowsEvicted: 310, MaxBytes: 64 << 20,
		},
		Tracers:     []store.Tracer{{Name: "shop", Roots: 19_000, Unlabelled: 300}, {Name: "jobs", Roots: 1000}, {Name: "idle"}},
		RunningLong: 20, HasSpans: true, Service: "shop", Sampled: 20_000, Unsampled: 80_000, Wiped: 90,
	}
}

func run(f *selfcheck.Facts) []selfcheck.Finding {
	found, _ := selfcheck.Run(f)
	return found
}

func TestHealthy(t *testing.T) {
	for name, f := range map[string]*selfcheck.Facts{"busy": healthy(), "empty": {}} {
		if found, n := selfcheck.Run(f); len(found) > 0 || n != 21 {
			t.Errorf("%s: %d checks found %+v", name, n, found)
		}
	}
}

// unlabelled makes all spans ones without labels.
func unlabelled(f *selfcheck.Facts, roots int64) {
	f.Tracers = []store.Tracer{{Name: "shop", Roots: roots, Unlabelled: roots}}
	f.Sampled, f.Unsampled, f.Store.CPUTimeLabelled = 0, 0, 0
}

// notRecorded makes all spans ones that the store did not receive.
func notRecorded(f *selfcheck.Facts) {
	f.Store, f.Tracers, f.HasSpans, f.RunningLong = store.Stats{CPUTime: time.Hour}, nil, false, 0
}

// A row is wrong (!), wrong and logged (!!) or a note. Each is at the threshold of its
// check, or one below.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*selfcheck.Facts)
		want   string
	}{
		"few spans without labels":      {func(f *selfcheck.Facts) { unlabelled(f, 99) }, "!spans-without-labels"},
		"spans without labels":          {func(f *selfcheck.Facts) { unlabelled(f, 100); f.Store.CPUTime = 5 * time.Second }, "!!spans-without-labels"},
		"little CPU without labels":     {func(f *selfcheck.Facts) { unlabelled(f, 100); f.Store.CPUTime = 4 * time.Second }, "!spans-without-labels"},
		"a small tracer without labels": {func(f *selfcheck.Facts) { f.Tracers[1].Unlabelled = 1000 }, "spans-without-labels"},
		"a large tracer without labels": {func(f *selfcheck.Facts) { f.Tracers[0].Unlabelled = 19_000 }, "!!spans-without-labels"},
		"no room for any span":          {func(f *selfcheck.Facts) { unlabelled(f, 1000); f.NoRoom = 1000 }, "!!spans-without-room"},
		"spans without the attribute":   {func(f *selfcheck.Facts) { f.Tracers[1].Unlabelled = 1000; f.NoProfileID = true }, ""},
		"no global provider":            {func(f *selfcheck.Facts) { notRecorded(f); f.NotSet = true; f.Sampled, f.Unsampled = 0, 0 }, "provider-not-set"},
		"no provider, few spans":        {func(f *selfcheck.Facts) { notRecorded(f); f.Sampled, f.Unsampled = 9, 0 }, ""},
		"no provider":                   {func(f *selfcheck.Facts) { notRecorded(f); f.Sampled, f.Unsampled = 99, 0 }, "!provider-missing"},
		"no provider, many spans":       {func(f *selfcheck.Facts) { notRecorded(f) }, "!!provider-missing"},
		"another provider later":        {func(f *selfcheck.Facts) { f.Store.SamplesUnseen = 100 }, "provider-replaced"},
		"one span in twenty sampled":    {func(f *selfcheck.Facts) { f.Sampled, f.Unsampled = 1000, 19_000 }, ""},
		"one span in thirty sampled":    {func(f *selfcheck.Facts) { f.Sampled, f.Unsampled = 1000, 29_000 }, "spans-not-sampled"},
		"no span sampled of nine":       {func(f *selfcheck.Facts) { f.Sampled, f.Unsampled = 0, 9 }, ""},
		"no span sampled of ten":        {func(f *selfcheck.Facts) { f.Sampled, f.Unsampled = 0, 10 }, "spans-not-sampled"},
		"names":                         {func(f *selfcheck.Facts) { f.NamesFull = 256 }, "span-names-too-many"},
		"labels replaced":               {func(f *selfcheck.Facts) { f.Wiped = 2000 }, "labels-replaced"},
		"few labels replaced":           {func(f *selfcheck.Facts) { f.Wiped = 1999 }, ""},
		"no room for one":               {func(f *selfcheck.Facts) { f.NoRoom = 1 }, "!spans-without-room"},
		"spans that run":                {func(f *selfcheck.Facts) { f.RunningLong = 100 }, "spans-not-ended"},
		"public API":                    {func(f *selfcheck.Facts) { f.PublicAPI = true }, "labels-by-public-api"},
		"CPU outside":                   {func(f *selfcheck.Facts) { f.Store.CPUTimeLabelled = 5 * time.Minute }, "cpu-outside-spans"},
		"two profilers": {func(f *selfcheck.Facts) {
			f.Profiler.Profilers, f.Profiler.CPUEnd, f.Profiler.CPUForeign = 2, time.Time{}, 1
		}, "!!second-profiler"},
		"foreign profile":           {func(f *selfcheck.Facts) { f.Profiler.CPUEnd, f.Profiler.CPUForeign = time.Time{}, 1 }, "!cpu-profile-waits"},
		"a CPU profiler that waits": {func(f *selfcheck.Facts) { f.Profiler.CPUEnd = time.Time{} }, "cpu-profile-waits"},
		"mutex":                     {func(f *selfcheck.Facts) { f.MutexFraction = 0 }, "!!mutex-without-fraction"},
		"block":                     {func(f *selfcheck.Facts) { f.BlockEvents, f.Profiler.Windows = 0, 6 }, "!block-without-rate"},
		"block, not for long":       {func(f *selfcheck.Facts) { f.BlockEvents, f.Profiler.Windows = 0, 5 }, ""},
		"wall never":                {func(f *selfcheck.Facts) { f.Profiler.Wall = profiler.WallStatus{RoundsSkipped: 20} }, "!!wall-over-budget"},
		"wall now and then":         {func(f *selfcheck.Facts) { f.Profiler.Wall = profiler.WallStatus{Rounds: 10, RoundsSkipped: 90} }, "!wall-over-budget"},
		"failing":                   {func(f *selfcheck.Facts) { f.Profiler.Lanes[0].LastErrorTime = time.Now().Add(time.Hour) }, "!exporter-failing"},
		"services":                  {func(f *selfcheck.Facts) { f.Profiled = []string{"a", "b", "c", "d"} }, "!!service-names-differ"},
		"unnamed":                   {func(f *selfcheck.Facts) { f.Service = "" }, "service-unnamed"},
		"unknown":                   {func(f *selfcheck.Facts) { f.Service = "unknown_service:go" }, "service-unnamed"},
		"room for little":           {func(f *selfcheck.Facts) { f.Store.Windows, f.Store.WindowsReceived = 4, 20 }, "store-too-small"},
		"disabled": {func(f *selfcheck.Facts) {
			unlabelled(f, 1000)
			f.Unsampled, f.NotSet, f.Off = 1000, true, "It is off."
		}, "disabled-by-environment"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			test.change(f)
			var got []string
			for _, f := range run(f) {
				mark := map[string]string{selfcheck.Wrong: "!", selfcheck.Note: ""}[f.Severity]
				if f.Log {
					mark += "!"
				}
				got = append(got, mark+f.ID)
				wellFormed(t, f)
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)

// wellFormed checks the id and the sentences of a finding.
func wellFormed(t *testing.T, f selfcheck.Finding) {
	t.Helper()
	if !kebab.MatchString(f.ID) {
		t.Errorf("id %q", f.ID)
	}
	for _, sentence := range []string{f.Seen, f.Do} {
		if first := sentence[:1]; first != strings.ToUpper(first) || strings.Contains(sentence, "%!") {
			t.Errorf("%s: %q", f.ID, sentence)
		}
	}
	if !strings.HasSuffix(f.Do, ".") {
		t.Errorf("%s: %q", f.ID, f.Do)
	}
}

// Names are quoted, and the first three are listed.
func TestNames(t *testing.T) {
	f := healthy()
	f.Tracers[1].Unlabelled = 1000
	f.Profiled = []string{"a", "b", "c", "d"}
	var seen []string
	for _, f := range run(f) {
		seen = append(seen, f.Seen)
	}
	want := []string{
		`Spans have service.name "shop", CPU profiles "a", "b", "c" and 1 more. Tools other than this page join them by that name.`,
		`1000 of 20000 local root spans have no labels, all of 1 tracer "jobs". Package spanprof does not wrap the provider of their tracers.`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// Wrong findings are first, and the headline is about what measures.
func TestPage(t *testing.T) {
	f := healthy()
	f.PublicAPI, f.MutexFraction, f.NamesFull, f.NoRoom, f.Profiler.CPUForeign = true, 0, 256, 1, 2
	check, headline := selfcheck.Page(f)
	var ids []string
	for _, f := range check.Findings {
		ids = append(ids, f.ID)
	}
	want := []string{"mutex-without-fraction", "spans-without-room", "labels-by-public-api", "span-names-too-many"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(headline, "Goroutines are labelled") || !strings.HasSuffix(check.Gaps, "2 times so far") || check.SpansStarted != 100_000 || check.SpansSampled != 20_000 {
		t.Errorf("headline %q of %+v", headline, check)
	}
	f.Profiler.Profilers = 2
	if check, headline = selfcheck.Page(f); !strings.HasPrefix(headline, "2 profilers") || !strings.HasPrefix(check.Gaps, "another profiler") {
		t.Errorf("headline %q, gaps %q", headline, check.Gaps)
	}
	if check, headline = selfcheck.Page(healthy()); headline != "" || check.Gaps != "" {
		t.Errorf("headline %q, gaps %q", headline, check.Gaps)
	}
}

// A program with hostile names gets no long or broken lines.
func TestHostileNames(t *testing.T) {
	f := healthy()
	hostile := strings.Repeat("x\n\x1b[2J\xff", 1000)
	f.Tracers = []store.Tracer{{Name: hostile, Roots: 1000, Unlabelled: 1000}}
	f.Profiled = []string{strings.Repeat("é", 5000), "b", "c", "d", "e"}
	f.Profiler.Lanes = []exporter.Status{{Name: "file", LastError: errors.New("full\n" + hostile), LastErrorTime: time.Now()}}
	found := run(f)
	if len(found) != 3 {
		t.Errorf("found %+v", found)
	}
	for _, finding := range found {
		if len(finding.Seen) > 1200 || strings.ContainsAny(finding.Seen, "\n\x1b") || !utf8.ValidString(finding.Seen) {
			t.Errorf("%d bytes: %q", len(finding.Seen), finding.Seen)
		}
	}
}

// The log has each finding once, when enough was seen.
func TestLog(t *testing.T) {
	f := healthy()
	f.MutexFraction, f.Profiler.CPUForeign, f.PublicAPI, f.NoRoom = 0, 1, true, 1
	news := selfcheck.News(f)
	if len(news) != 1 || !strings.HasPrefix(news[0].Error(), "self-check mutex-without-fraction: Mutex profiles are asked for and empty") {
		t.Errorf("news %q", news)
	}
	if again := selfcheck.News(f); len(again) > 0 {
		t.Errorf("again: %q", again)
	}
	f.NoRoom = 100
	if more := selfcheck.News(f); len(more) != 1 || !strings.Contains(more[0].Error(), "spans-without-room") {
		t.Errorf("what became certain later: %q", more)
	}
}

// The counters of the runtime and of package spanlabels are facts, each under its name.
func TestCollect(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profiler.New(s, profiler.WithKinds(exporter.KindGoroutine))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(7))
	counts := &spanlabels.Counts
	counts.Sampled.Store(4)
	counts.Unsampled.Store(5)
	counts.NamesFull.Store(256)
	counts.Wiped.Store(2)
	counts.NoRoom.Store(3)
	if f := selfcheck.Collect(p, s, true); f.MutexFraction != 7 || f.Sampled != 4 || f.Unsampled != 5 || f.NamesFull != 256 || f.Wiped != 2 || f.NoRoom != 3 || !f.NotSet || f.Off != "" {
		t.Errorf("got %+v", f)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
