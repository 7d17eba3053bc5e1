// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"maps"
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

// statesOn is a store with spans. Their wall time is sampled each 10 ms, from the epoch on.
type statesOn struct {
	*store.Store
	tracer trace.Tracer
	wall   *profileBuilder
	looks  looks.Looks
}

func newStatesOn(t *testing.T) *statesOn {
	t.Helper()
	s := newStore(t)
	on := &statesOn{Store: s, wall: newWallBuilder()}
	on.tracer = newTracer(s, shop)
	for i := range 1000 {
		on.looks.Add(at(10*i), at(10*i+10), 0, 0, 0)
	}
	return on
}

// at is so many milliseconds after the epoch.
func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// start starts a span with a profile of its own so many milliseconds after the epoch.
func (on *statesOn) start(t *testing.T, parent trace.Span, name string, from int) trace.Span {
	t.Helper()
	ctx := t.Context()
	if parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent)
	}
	_, span := on.tracer.Start(ctx, name, trace.WithTimestamp(at(from)))
	span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
	return span
}

func idOf(s trace.Span) string { return s.SpanContext().SpanID().String() }

func idLabels(s trace.Span) map[string][]string {
	return map[string][]string{"profile_id": {idOf(s)}, "span_id": {idOf(s)}, "trace_id": {s.SpanContext().TraceID().String()}}
}

// found has looks at the goroutines of a span find it for so many milliseconds.
func (on *statesOn) found(s trace.Span, ms int64, leafFirst ...string) {
	on.wall.addValues([]int64{ms / 10, ms * 1e6}, idLabels(s), leafFirst...)
}

func end(s trace.Span, ms int) { s.End(trace.WithTimestamp(at(ms))) }

// export exports the wall profile of ten seconds, and an empty CPU profile of the same time.
func (on *statesOn) export(t *testing.T) {
	t.Helper()
	exportSecond(t, on.Store, 0, newProfileBuilder())
	on.wall.profile.Comments = []string{on.looks.Comment()}
	export(t, on.Store, shop, exporter.KindWall, on.wall.profile)
}

// answerOf returns where the time of a span went, in milliseconds by state.
func answerOf(t *testing.T, s *store.Store, span trace.Span) (*answer.Answer, map[string]int64) {
	t.Helper()
	a := profileOf(t, viewer.Handler(s), byID(idOf(span)))
	if a.Answer == nil {
		t.Fatal("no answer")
	}
	parts, sum := map[string]int64{}, int64(0)
	for _, p := range a.Answer.States {
		parts[p.State] = p.Ns / 1e6
		sum += p.Ns
	}
	if sum > a.Span.Duration.Nanoseconds() {
		t.Errorf("the states have %d together, the span %d", sum, a.Span.Duration)
	}
	text := strings.Join(strings.Fields(get(t, viewer.Handler(s), target("/", "query", byID(idOf(span)), "format", "text")).Body.String()), " ")
	// A running span has a later duration in each answer.
	if _, want, _ := strings.Cut(a.Answer.Sentence, ":"); !strings.HasPrefix(text, "answer ") || !strings.Contains(text, want) || !strings.Contains(text, a.Answer.Note) {
		t.Errorf("%q and %q are not in\n%s", want, a.Answer.Note, text)
	}
	return a.Answer, parts
}

func wantParts(t *testing.T, got, want map[string]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
}

// The wall time of a span and the span below it agrees with go tool pprof. Spans that ended later
// are not counted, and spans below them are not either.
func TestStatesOfFamily(t *testing.T) {
	on := newStatesOn(t)
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
	on.export(t)

	got, parts := answerOf(t, on.Store, root)
	wantParts(t, parts, map[string]int64{"mutex": 400, "network": 310, "ready without a CPU": 250})
	if want := "1.00 s: 400 ms mutex, 310 ms network, 250 ms ready but without a CPU."; got.Sentence != want {
		t.Errorf("got %q, want %q", got.Sentence, want)
	}
	if want := "not counted: 1 span below it that ended later"; got.Note != want {
		t.Errorf("note %q, want %q", got.Note, want)
	}
	p, err := profile.Parse(get(t, viewer.Handler(on.Store), target("/profile", "query", got.Query)).Body)
	if err != nil {
		t.Fatal(err)
	}
	column, sum := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == "wall" }), int64(0)
	for _, s := range p.Sample {
		sum += s.Value[column]
	}
	if sum != 960e6 {
		t.Errorf("pprof has %d, want 960 ms", sum)
	}

	_, parts = answerOf(t, on.Store, query)
	wantParts(t, parts, map[string]int64{"network": 300}) // No state is longer than the span.
	_, parts = answerOf(t, on.Store, detached)
	wantParts(t, parts, map[string]int64{"sleep": 900, "not sampled": 400})
}

// Time without a sample is no wait. A running span, or one with samples to come, misses nothing
// yet.
func TestStatesOfWhatIsMissing(t *testing.T) {
	on := newStatesOn(t)
	frozen := on.start(t, nil, "frozen", 1000)
	end(frozen, 2000)
	on.found(frozen, 400, "runtime.gopark", "time.Sleep", "main.sleep")
	late := on.start(t, nil, "not looked at to its end", 9000)
	end(late, 12000)
	on.found(late, 1000, "runtime.gopark", "time.Sleep", "main.sleep")
	// It began before now. Its goroutine has its labels.
	_, running := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(shop))).Tracer("test").
		Start(t.Context(), "running", trace.WithTimestamp(epoch.AddDate(-20, 0, 0)))
	defer running.End()
	on.found(running, 500, "runtime.gopark", "time.Sleep", "main.sleep")
	on.export(t)

	got, parts := answerOf(t, on.Store, late)
	wantParts(t, parts, map[string]int64{"sleep": 1000})
	if got.Sentence != "3.00 s: 1.00 s sleep." || got.Note != "its last samples are not in yet" {
		t.Errorf("got %q, note %q", got.Sentence, got.Note)
	}
	exportSecond(t, on.Store, 10, newProfileBuilder())
	_, parts = answerOf(t, on.Store, late)
	wantParts(t, parts, map[string]int64{"sleep": 1000, "not sampled": 2000})

	_, parts = answerOf(t, on.Store, frozen)
	wantParts(t, parts, map[string]int64{"sleep": 400, "not sampled": 600})
	got, parts = answerOf(t, on.Store, running)
	wantParts(t, parts, map[string]int64{"sleep": 500})
	if !strings.Contains(got.Sentence, " so far: 500 ms sleep.") || !strings.Contains(got.Note, "still running") {
		t.Errorf("got %q, note %q", got.Sentence, got.Note)
	}
}

// Without looks at goroutines there is the time on a CPU, and why there is not more.
func TestStatesWithoutWall(t *testing.T) {
	on := newStatesOn(t)
	busy := on.start(t, nil, "busy", 1000)
	end(busy, 2000)
	cpu := newProfileBuilder()
	cpu.add(25, idLabels(busy), "main.work")
	exportSecond(t, on.Store, 0, cpu)
	got, parts := answerOf(t, on.Store, busy)
	wantParts(t, parts, map[string]int64{"on a CPU": 250, "not on a CPU": 750})
	if !strings.HasPrefix(got.Sentence, "1.00 s: 250 ms on a CPU (100 % main.work), ") {
		t.Errorf("got %q, want the function", got.Sentence)
	}
	if got.States[1].ErrorNs != 50e6 || got.Query != "" || !strings.Contains(got.Note, "exporter.KindWall among the kinds of profiler.WithKinds") {
		t.Errorf("%+v", got)
	}

	// There were looks, but none found it.
	on.wall.profile.Comments = []string{on.looks.Comment()}
	export(t, on.Store, shop, exporter.KindWall, on.wall.profile)
	got, parts = answerOf(t, on.Store, busy)
	wantParts(t, parts, map[string]int64{"on a CPU": 250, "not on a CPU": 750})
	if !strings.Contains(got.Note, "no wall sample hit this span") {
		t.Errorf("note %q", got.Note)
	}

	unprofiled := on.start(t, nil, "before the CPU profiler", -5000)
	end(unprofiled, 1000)
	got, parts = answerOf(t, on.Store, unprofiled)
	wantParts(t, parts, map[string]int64{"not sampled": 6000})
	if got.Sentence != "6.00 s: not sampled." {
		t.Errorf("got %q", got.Sentence)
	}
}
