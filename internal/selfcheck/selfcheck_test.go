// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/selfcheck"
)

// healthy is a busy program without a mistake.
func healthy() *selfcheck.Facts {
	return &selfcheck.Facts{
		Profiler: selfcheck.Profiler{Running: true, CPU: true, Mutex: true, Block: true, Profilers: 1, State: "profiling", Edges: 100, Unmeasured: 2 * time.Second, MutexFraction: 100, BlockRate: true, Windows: 400},
		Wall:     selfcheck.Wall{Measured: true, Rounds: 1000, Skipped: 500, Goroutines: 300},
		Provider: selfcheck.Provider{Given: true, Wrapped: true, Global: selfcheck.GlobalGiven},
		Labels:   selfcheck.Labels{Wrappers: 1, Sampled: 20_000, Unsampled: 80_000, EndsElsewhere: 90},
		Spans: selfcheck.Spans{
			Ended: 20_000, NotKept: 19_000, Running: 600, RunningLong: 20, Long: 10 * time.Minute, Named: true, Service: "shop",
			Tracers: []selfcheck.Tracer{{Name: "shop", Roots: 19_000, Unlabelled: 300}, {Name: "jobs", Roots: 1000}},
		},
		Store: selfcheck.Store{CPU: time.Hour, Labelled: 50 * time.Minute, Windows: 90, Received: 400, Evicted: 310, MaxBytes: 64 << 20},
	}
}

func ids(found []selfcheck.Finding) (ids []string) {
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids
}

func TestHealthy(t *testing.T) {
	for name, f := range map[string]*selfcheck.Facts{"busy": healthy(), "nothing known": {}} {
		if found := selfcheck.Run(f); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
		if gaps := selfcheck.Gaps(&selfcheck.Facts{}); gaps != "" {
			t.Errorf("gaps %q", gaps)
		}
	}
}

// unlabelled makes all spans ones without labels.
func unlabelled(f *selfcheck.Facts, roots int64) {
	f.Spans.Tracers = []selfcheck.Tracer{{Name: "shop", Roots: roots, Unlabelled: roots}}
	f.Labels = selfcheck.Labels{Wrappers: 1}
	f.Store.Labelled = 0
}

func TestFindings(t *testing.T) {
	type finding struct {
		id       string
		severity selfcheck.Severity
		certain  bool
	}
	const wrong, note = selfcheck.Wrong, selfcheck.Note
	for name, test := range map[string]struct {
		change func(*selfcheck.Facts)
		want   *finding
	}{
		"few spans without labels":      {func(f *selfcheck.Facts) { unlabelled(f, 99); f.Labels.Wrappers = 0 }, &finding{selfcheck.ProviderNotWrapped, wrong, false}},
		"spans without labels":          {func(f *selfcheck.Facts) { unlabelled(f, 100); f.Labels.Wrappers = 0 }, &finding{selfcheck.ProviderNotWrapped, wrong, true}},
		"little CPU without labels":     {func(f *selfcheck.Facts) { unlabelled(f, 100); f.Labels.Wrappers = 0; f.Store.CPU = 4 * time.Second }, &finding{selfcheck.ProviderNotWrapped, wrong, false}},
		"spans of the SDK":              {func(f *selfcheck.Facts) { unlabelled(f, 100); f.Provider.Global = selfcheck.GlobalInner }, &finding{selfcheck.ProviderNotGlobal, wrong, true}},
		"all tracers before the wrap":   {func(f *selfcheck.Facts) { unlabelled(f, 100) }, &finding{selfcheck.TracersBeforeWrap, wrong, true}},
		"a small tracer without labels": {func(f *selfcheck.Facts) { f.Spans.Tracers[1].Unlabelled = 1000 }, &finding{selfcheck.TracersBeforeWrap, note, true}},
		"a large tracer without labels": {func(f *selfcheck.Facts) { f.Spans.Tracers[0].Unlabelled = 19_000 }, &finding{selfcheck.TracersBeforeWrap, wrong, true}},
		"no room for any span":          {func(f *selfcheck.Facts) { unlabelled(f, 1000); f.Labels.NoRoom = 1000 }, &finding{selfcheck.NoRoom, wrong, true}},
		"spans that tell nothing":       {func(f *selfcheck.Facts) { f.Spans.Tracers[1].Unlabelled = 1000; f.Labels.NoProfileID = true }, nil},
		"a global SDK that is not used": {func(f *selfcheck.Facts) { f.Provider.Global = selfcheck.GlobalInner }, nil},
		"another provider":              {func(f *selfcheck.Facts) { f.Provider.Global = selfcheck.GlobalOtherSDK }, nil},
		"another provider, no spans": {func(f *selfcheck.Facts) {
			f.Provider.Global, f.Spans, f.Labels = selfcheck.GlobalOtherSDK, selfcheck.Spans{}, selfcheck.Labels{}
		}, &finding{selfcheck.ProviderOther, note, false}},
		"a provider of another make, no spans": {func(f *selfcheck.Facts) {
			f.Provider.Global, f.Spans, f.Labels = selfcheck.GlobalUnknown, selfcheck.Spans{}, selfcheck.Labels{}
		}, nil},
		"labels alone, no provider":       {func(f *selfcheck.Facts) { f.Provider, f.Spans = selfcheck.Provider{}, selfcheck.Spans{} }, &finding{selfcheck.ProviderMissing, wrong, true}},
		"one span in thirty sampled":      {func(f *selfcheck.Facts) { f.Labels.Sampled, f.Labels.Unsampled = 1000, 29_000 }, &finding{selfcheck.NotSampled, note, false}},
		"one in a thousand, not for long": {func(f *selfcheck.Facts) { f.Labels.Sampled, f.Labels.Unsampled = 0, 900 }, nil},
		"no span sampled":                 {func(f *selfcheck.Facts) { f.Labels.Sampled, f.Spans = 0, selfcheck.Spans{} }, &finding{selfcheck.NotSampled, note, false}},
		"names":                           {func(f *selfcheck.Facts) { f.Labels.NamesFull = 256 }, &finding{selfcheck.NamesFull, note, false}},
		"ends elsewhere":                  {func(f *selfcheck.Facts) { f.Labels.EndsElsewhere = 2000 }, &finding{selfcheck.EndsElsewhere, note, false}},
		"few ends elsewhere":              {func(f *selfcheck.Facts) { f.Labels.EndsElsewhere = 1999 }, nil},
		"no room":                         {func(f *selfcheck.Facts) { f.Labels.NoRoom = 100 }, &finding{selfcheck.NoRoom, wrong, true}},
		"spans that run":                  {func(f *selfcheck.Facts) { f.Spans.RunningLong = 100 }, &finding{selfcheck.NotEnded, note, false}},
		"public API":                      {func(f *selfcheck.Facts) { f.Labels.PublicAPI = true }, &finding{selfcheck.PublicAPI, note, false}},
		"CPU outside":                     {func(f *selfcheck.Facts) { f.Store.Labelled = 5 * time.Minute }, &finding{selfcheck.CPUOutside, note, false}},
		"CPU outside, little of it":       {func(f *selfcheck.Facts) { f.Store.CPU, f.Store.Labelled = time.Second, 0 }, nil},
		"own requests":                    {func(f *selfcheck.Facts) { f.Spans.Traced = 1 }, &finding{selfcheck.OwnRequests, note, false}},
		"two profilers": {func(f *selfcheck.Facts) {
			f.Profiler.Profilers = 2
			f.Profiler.CPUIdle = true
			f.Profiler.Foreign = true
		}, &finding{selfcheck.SecondProfiler, wrong, true}},
		"foreign profile":                 {func(f *selfcheck.Facts) { f.Profiler.CPUIdle = true; f.Profiler.Foreign = true }, &finding{selfcheck.ForeignProfile, wrong, false}},
		"a CPU profiler that waits":       {func(f *selfcheck.Facts) { f.Profiler.CPUIdle = true }, &finding{selfcheck.CPUWaits, note, false}},
		"foreign stops":                   {func(f *selfcheck.Facts) { f.Profiler.Stops = 2 }, &finding{selfcheck.ForeignStops, wrong, false}},
		"no start":                        {func(f *selfcheck.Facts) { f.Profiler.Running = false; f.Profiler.NotStarted = true }, &finding{selfcheck.NotStarted, wrong, true}},
		"no CPU":                          {func(f *selfcheck.Facts) { f.Profiler.CPU = false }, &finding{selfcheck.NoCPU, note, false}},
		"no kind":                         {func(f *selfcheck.Facts) { f.Profiler = selfcheck.Profiler{Running: true, None: true} }, &finding{selfcheck.NothingMeasured, note, false}},
		"fallback":                        {func(f *selfcheck.Facts) { f.Profiler.Fallback = "the runtime of go1.99 is not as expected" }, &finding{selfcheck.Fallback, note, false}},
		"dropped":                         {func(f *selfcheck.Facts) { f.Profiler.Dropped = 3 }, &finding{selfcheck.Dropped, note, false}},
		"starved":                         {func(f *selfcheck.Facts) { f.Profiler.Unmeasured = 30 * time.Second }, &finding{selfcheck.Starved, note, false}},
		"mutex":                           {func(f *selfcheck.Facts) { f.Profiler.MutexFraction = 0 }, &finding{selfcheck.MutexFraction, wrong, true}},
		"block":                           {func(f *selfcheck.Facts) { f.Profiler.BlockRate = false }, &finding{selfcheck.BlockRate, wrong, true}},
		"block, not for long":             {func(f *selfcheck.Facts) { f.Profiler.BlockRate = false; f.Profiler.Windows = 5 }, &finding{selfcheck.BlockRate, wrong, false}},
		"block by the program's own rate": {func(f *selfcheck.Facts) { f.Profiler.BlockRate = false; f.Profiler.BlockEvents = 1 }, nil},
		"wall never":                      {func(f *selfcheck.Facts) { f.Wall.Rounds, f.Wall.Skipped = 0, 20 }, &finding{selfcheck.WallBudget, wrong, true}},
		"wall now and then":               {func(f *selfcheck.Facts) { f.Wall.Rounds, f.Wall.Skipped = 10, 90 }, &finding{selfcheck.WallBudget, note, true}},
		"failing": {func(f *selfcheck.Facts) {
			f.Failing = []selfcheck.Failing{{Name: "pyroscope", Why: "refused"}, {Name: "file", Why: "full"}}
		}, &finding{selfcheck.Failed, wrong, false}},
		"services": {func(f *selfcheck.Facts) { f.Spans.Profiled = []string{"a", "b", "c", "d"} }, &finding{selfcheck.ServicesDiffer, wrong, false}},
		"unnamed":  {func(f *selfcheck.Facts) { f.Spans.Service = "" }, &finding{selfcheck.ServiceUnnamed, note, false}},
		"not kept": {func(f *selfcheck.Facts) { f.Spans.NotKept = f.Spans.Ended }, &finding{selfcheck.NotKept, note, false}},
		"refused": {func(f *selfcheck.Facts) {
			f.Store.Refused = 1
			f.Failing = []selfcheck.Failing{{Name: "store", Why: "too big"}}
		}, &finding{selfcheck.StoreTooSmall, wrong, false}},
		"room for little":                  {func(f *selfcheck.Facts) { f.Store.Windows, f.Store.Evicted = 4, 396 }, &finding{selfcheck.StoreTooSmall, note, false}},
		"disabled":                         {func(f *selfcheck.Facts) { *f = selfcheck.Facts{Disabled: "SPANPROF_DISABLED"} }, &finding{selfcheck.Disabled, note, false}},
		"disabled, and all else is silent": {func(f *selfcheck.Facts) { unlabelled(f, 1000); f.Disabled = "OTEL_SDK_DISABLED" }, &finding{selfcheck.Disabled, note, false}},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			test.change(f)
			var want, got []finding
			if test.want != nil {
				want = append(want, *test.want)
			}
			for _, f := range selfcheck.Run(f) {
				got = append(got, finding{f.ID, f.Severity, f.Certain})
				wellFormed(t, f)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(finding{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)

// wellFormed sees that a finding has a sentence each of what is seen and what to do.
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

// What is wrong comes first.
func TestOrder(t *testing.T) {
	f := healthy()
	f.Labels.PublicAPI, f.Profiler.Dropped, f.Profiler.MutexFraction = true, 1, 0
	if diff := cmp.Diff([]string{selfcheck.MutexFraction, selfcheck.PublicAPI, selfcheck.Dropped}, ids(selfcheck.Run(f))); diff != "" {
		t.Error(diff)
	}
}

// The head of a page speaks of what measures, not of labels.
// What to do about a rate says it for programs with package inprocess too.
func TestRatesOfInprocess(t *testing.T) {
	f := healthy()
	f.Profiler.MutexFraction, f.Profiler.BlockRate = 0, false
	found := selfcheck.Run(f)
	for i, want := range []string{"inprocess.WithProfilerOptions(profiler.WithMutexFraction(100))", "inprocess.WithProfilerOptions(profiler.WithBlockRate(1e6))"} {
		if len(found) != 2 || !strings.Contains(found[i].Do, want) {
			t.Errorf("no %s in %+v", want, found)
		}
	}
}

func TestHeadline(t *testing.T) {
	f := healthy()
	f.Labels.PublicAPI, f.Profiler.CPU, f.Spans.Tracers[1].Unlabelled = true, false, 1000
	if got := selfcheck.Headline(selfcheck.Run(f)); got != "CPU time is not among the kinds that are measured." {
		t.Errorf("headline %q", got)
	}
	if got := selfcheck.Headline(selfcheck.Run(healthy())); got != "" {
		t.Errorf("headline %q", got)
	}
}

// A program that names things in a hostile way gets no long or broken lines.
func TestHostileNames(t *testing.T) {
	f := healthy()
	f.Spans.Tracers = []selfcheck.Tracer{{Name: strings.Repeat("x\n\x1b[2J\xff", 1000), Roots: 1000, Unlabelled: 1000}}
	f.Spans.Profiled = []string{strings.Repeat("é", 5000), "b", "c", "d", "e"}
	for _, finding := range selfcheck.Run(f) {
		if len(finding.Seen) > 1200 || strings.ContainsAny(finding.Seen, "\n\x1b") || !utf8.ValidString(finding.Seen) {
			t.Errorf("%d bytes: %q", len(finding.Seen), finding.Seen)
		}
	}
}

// The log hears once of what is wrong for certain, unless somebody has reported it.
func TestLog(t *testing.T) {
	f := healthy()
	f.Profiler.MutexFraction, f.Profiler.Stops, f.Labels.PublicAPI, f.Labels.NoRoom = 0, 1, true, 1
	var log selfcheck.Log
	news := log.News(selfcheck.Run(f))
	if len(news) != 1 || !strings.HasPrefix(news[0].Error(), "self-check mutex-without-fraction: Mutex profiles are asked for and empty") {
		t.Errorf("news %q", news)
	}
	if again := log.News(selfcheck.Run(f)); len(again) > 0 {
		t.Errorf("again: %q", again)
	}
	f.Labels.NoRoom = 100
	if more := log.News(selfcheck.Run(f)); len(more) != 1 || !strings.Contains(more[0].Error(), "spans-without-room") {
		t.Errorf("what became certain later: %q", more)
	}
}

// Spans without labels are logged once, though the wrapper is collected meanwhile.
func TestLogOfSpansWithoutLabels(t *testing.T) {
	f := healthy()
	unlabelled(f, 100)
	f.Provider.Global = selfcheck.GlobalInner
	var log selfcheck.Log
	if news := log.News(selfcheck.Run(f)); len(news) != 1 {
		t.Errorf("news %q", news)
	}
	f.Labels.Wrappers, f.Provider.Global = 0, selfcheck.GlobalGiven
	if again := log.News(selfcheck.Run(f)); len(again) > 0 {
		t.Errorf("again: %q", again)
	}
}

func TestGaps(t *testing.T) {
	for want, p := range map[string]selfcheck.Profiler{
		"another profiler of this process has the CPU profiler":                                                      {Profilers: 2, Found: 1},
		"something else in this process has stopped the CPU profile, 2 times so far":                                 {Profilers: 1, Stops: 2, Found: 1},
		"another CPU profile ran in this process, 1 time so far":                                                     {Profilers: 1, Found: 1},
		"all cores were busy, and the change from one CPU window to the next took long: 1.5s in all, over 3 windows": {Profilers: 1, Edges: 3, Unmeasured: 1500 * time.Millisecond},
		"": {Profilers: 1, Edges: 3, Unmeasured: 60 * time.Millisecond},
	} {
		if got := selfcheck.Gaps(&selfcheck.Facts{Profiler: p}); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
