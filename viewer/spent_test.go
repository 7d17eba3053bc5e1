// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// spentOn is a store with spans whose wall time is looked at each 10 ms, from the epoch on.
type spentOn struct {
	*store.Store
	tracer trace.Tracer
	wall   *profileBuilder
	looks  looks.Looks
}

func newSpentOn(t *testing.T) *spentOn {
	t.Helper()
	s := newStore(t)
	on := &spentOn{Store: s, wall: newWallBuilder()}
	on.tracer = sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	for i := range 1000 {
		on.looks.Add(at(10*i), at(10*i+10), 0, 0, 0)
	}
	return on
}

// at is so many milliseconds after the epoch.
func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// start starts a span with a profile of its own so many milliseconds after the epoch.
func (on *spentOn) start(t *testing.T, parent trace.Span, name string, from int) trace.Span {
	t.Helper()
	return on.startAt(t, parent, name, at(from))
}

func (on *spentOn) startAt(t *testing.T, parent trace.Span, name string, from time.Time) trace.Span {
	t.Helper()
	ctx := t.Context()
	if parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent)
	}
	_, span := on.tracer.Start(ctx, name, trace.WithTimestamp(from))
	span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
	return span
}

func idOf(s trace.Span) string { return s.SpanContext().SpanID().String() }

func idLabels(s trace.Span) map[string][]string {
	return map[string][]string{"profile_id": {idOf(s)}, "span_id": {idOf(s)}, "trace_id": {s.SpanContext().TraceID().String()}}
}

// found has looks at the goroutines of a span find it for so many milliseconds.
func (on *spentOn) found(s trace.Span, ms int64, leafFirst ...string) {
	on.wall.addValues([]int64{ms / 10, ms * 1e6}, idLabels(s), leafFirst...)
}

func end(s trace.Span, ms int) { s.End(trace.WithTimestamp(at(ms))) }

// export exports the wall profile of ten seconds, and the CPU profile of the same time.
func (on *spentOn) export(t *testing.T, cpu *profileBuilder) {
	t.Helper()
	exportSecond(t, on.Store, 0, cpu)
	on.wall.profile.Comments = []string{on.looks.Comment()}
	export(t, on.Store, shop, exporter.KindWall, on.wall.profile)
}

// spent returns what the time of a span went to, in milliseconds by class.
func spent(t *testing.T, s *store.Store, span trace.Span) (*answer.Spent, map[string]int64) {
	t.Helper()
	var a answer.Profile
	getJSON(t, viewer.Handler(s), target("/", "query", byID(idOf(span)), "format", "json"), http.StatusOK, &a)
	if a.Spent == nil {
		t.Fatal("nothing is said of what its time went to")
	}
	parts, sum := map[string]int64{}, int64(0)
	for _, p := range a.Spent.Parts {
		parts[p.Class] = p.Ns / 1e6
		sum += p.Ns
		if p.ErrorNs <= 0 && p.Ns != a.Spent.Ns {
			t.Errorf("%s has no error", p.Class)
		}
	}
	if sum != a.Spent.Ns {
		t.Errorf("the parts have %d together, want %d", sum, a.Spent.Ns)
	}
	text := strings.Join(strings.Fields(get(t, viewer.Handler(s), target("/", "query", byID(idOf(span)), "format", "text")).Body.String()), " ")
	of := regexp.QuoteMeta(a.Spent.Of)
	if strings.HasSuffix(of, " so far") {
		// It has gone on between the two answers.
		of = of[:strings.LastIndex(of, " of ")] + ` of \S+ \S+ so far`
	}
	if want := "spent of " + of + ": " + regexp.QuoteMeta(a.Spent.Parts[0].Class); !regexp.MustCompile(want).MatchString(text) || !strings.Contains(text, a.Spent.Note) {
		t.Errorf("%q and %q are not in\n%s", want, a.Spent.Note, text)
	}
	return a.Spent, parts
}

func wantParts(t *testing.T, got, want map[string]int64) {
	t.Helper()
	for class, ms := range want {
		if got[class] != ms {
			t.Errorf("%s %d ms, want %d", class, got[class], ms)
		}
	}
	if len(got) != len(want) {
		t.Errorf("parts %v, want %v", got, want)
	}
}

// The wall time of a span and the span below it is what go tool pprof has, by what it was
// spent on; what ended later is not counted, and nor is what is below that.
func TestSpentOfFamily(t *testing.T) {
	on := newSpentOn(t)
	root := on.start(t, nil, "GET /", 1000)
	query := on.start(t, root, "query", 1200)
	detached := on.start(t, root, "detached", 1200)
	below := on.start(t, detached, "below it", 1200)
	end(query, 1500)
	end(below, 1300)
	end(root, 2000)
	end(detached, 2500)
	on.found(root, 400, "runtime.gopark", "runtime.semacquire1", "sync.runtime_SemacquireMutex", "main.serve")
	on.found(root, 250, "main.work", "main.serve")
	on.found(query, 310, "runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait", "net.(*conn).Read", "main.query")
	on.found(detached, 800, "runtime.gopark", "time.Sleep", "main.detached")
	on.found(below, 100, "runtime.gopark", "time.Sleep", "main.below")
	on.export(t, newProfileBuilder())

	got, parts := spent(t, on.Store, root)
	wantParts(t, parts, map[string]int64{"mutex": 400, "network": 310, "running": 250})
	if got.Of != "960 ms in samples, of 1.00 s" || got.Goroutines || got.Parts[0].Class != "mutex" {
		t.Errorf("of %s: %+v", got.Of, got.Parts)
	}
	for _, want := range []string{
		"not counted: 1 span below it that ended later",
		"of the time running the CPU profile has 0 ns: for the rest it was ready to run, without a CPU",
	} {
		if !strings.Contains(got.Note, want) {
			t.Errorf("no %q in %q", want, got.Note)
		}
	}
	p, err := profile.Parse(get(t, viewer.Handler(on.Store), target("/profile", "query", got.Query)).Body)
	if err != nil {
		t.Fatal(err)
	}
	column, sum := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == "wall" }), int64(0)
	for _, s := range p.Sample {
		sum += s.Value[column]
	}
	if sum != got.Ns {
		t.Errorf("pprof has %d, want %d", sum, got.Ns)
	}

	_, parts = spent(t, on.Store, query)
	wantParts(t, parts, map[string]int64{"network": 310})
	_, parts = spent(t, on.Store, detached)
	wantParts(t, parts, map[string]int64{"sleep": 900, notSeen: 400})
}

const notSeen = "not seen"

// Several goroutines at a time have more time than the span.
func TestSpentOfGoroutines(t *testing.T) {
	on := newSpentOn(t)
	root := on.start(t, nil, "fan out", 1000)
	end(root, 2000)
	on.found(root, 1000, "runtime.gopark", "sync.runtime_SemacquireWaitGroup", "main.wait")
	on.found(root, 1500, "main.work")
	on.export(t, newProfileBuilder())
	got, parts := spent(t, on.Store, root)
	wantParts(t, parts, map[string]int64{"cond or waitgroup": 1000, "running": 1500})
	if !got.Goroutines || got.Of != "2.50 s of goroutine time in 1.00 s" || !strings.Contains(got.Note, "several goroutines") {
		t.Errorf("of %s, note %q", got.Of, got.Note)
	}
}

// What is missing of a span is no wait: nobody looked, or the looks did not find it. Of a
// span that runs, or whose samples are not in, nothing is missing yet.
func TestSpentOfWhatIsMissing(t *testing.T) {
	on := newSpentOn(t)
	frozen := on.start(t, nil, "frozen", 1000)
	end(frozen, 2000)
	on.found(frozen, 400, "runtime.gopark", "time.Sleep", "main.sleep")
	on.looks.AddGap(at(1300), at(1900), 600*time.Millisecond)
	late := on.start(t, nil, "not looked at to its end", 9000)
	end(late, 12000)
	on.found(late, 1000, "runtime.gopark", "time.Sleep", "main.sleep")
	// It began before now. Its goroutine has its labels.
	_, running := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(shop))).Tracer("test").
		Start(t.Context(), "running", trace.WithTimestamp(epoch.AddDate(-20, 0, 0)))
	defer running.End()
	on.found(running, 500, "runtime.gopark", "time.Sleep", "main.sleep")
	on.export(t, newProfileBuilder())

	got, parts := spent(t, on.Store, late)
	wantParts(t, parts, map[string]int64{"sleep": 1000})
	if got.Of != "1.00 s in samples, of 3.00 s" || !strings.Contains(got.Note, "its last samples are not in yet") {
		t.Errorf("of %s, note %q", got.Of, got.Note)
	}
	exportSecond(t, on.Store, 10, newProfileBuilder())
	_, parts = spent(t, on.Store, late)
	wantParts(t, parts, map[string]int64{"sleep": 1000, "nobody looked": 2000})

	_, parts = spent(t, on.Store, frozen)
	wantParts(t, parts, map[string]int64{"sleep": 400, "nobody looked": 600})
	got, parts = spent(t, on.Store, running)
	wantParts(t, parts, map[string]int64{"sleep": 500})
	if !strings.HasPrefix(got.Of, "500 ms in samples, of ") || !strings.HasSuffix(got.Of, " so far") || !strings.Contains(got.Note, "still running") {
		t.Errorf("of %s, note %q", got.Of, got.Note)
	}
}

// Without looks at goroutines there is the time on a CPU, and why there is not more.
func TestSpentWithoutWall(t *testing.T) {
	on := newSpentOn(t)
	busy := on.start(t, nil, "busy", 1000)
	end(busy, 2000)
	cpu := newProfileBuilder()
	cpu.add(25, idLabels(busy), "main.work")
	exportSecond(t, on.Store, 0, cpu)
	got, parts := spent(t, on.Store, busy)
	wantParts(t, parts, map[string]int64{"on a CPU": 250, "not on a CPU": 750})
	if got.Parts[0].ErrorNs != 50e6 || got.Query != "" || !strings.Contains(got.Note, "exporter.KindWall among the kinds of inprocess.WithKinds") {
		t.Errorf("%+v", got)
	}

	// There were looks, but none found it.
	on.wall.profile.Comments = []string{on.looks.Comment()}
	export(t, on.Store, shop, exporter.KindWall, on.wall.profile)
	got, parts = spent(t, on.Store, busy)
	wantParts(t, parts, map[string]int64{"on a CPU": 250, "not on a CPU": 750})
	if !strings.Contains(got.Note, "no wall sample hit this span") {
		t.Errorf("note %q", got.Note)
	}

	unprofiled := on.start(t, nil, "before the CPU profiler", -5000)
	end(unprofiled, 1000)
	got, parts = spent(t, on.Store, unprofiled)
	wantParts(t, parts, map[string]int64{"nobody looked": 6000})
	if got.Of != "6.00 s" {
		t.Errorf("of %s", got.Of)
	}
}
