// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// chronicle is a random history of spans and profiles. It feeds a store, and keeps all
// spans and rows in plain lists, as the truth. Only the public API is used: the test
// shows what any implementation of the store must hold to.
type chronicle struct {
	*rand.Rand
	t       *testing.T
	seed    uint64
	steps   int
	store   *store.Store
	opts    []store.Option
	tracers map[string]trace.Tracer
	ids     idGenerator
	now     time.Time

	open, ended []*historySpan
	windows     []*historyWindow
	// received is the number of windows that this store received.
	received int
	// recorded is the number of spans with a record that ended in this store.
	recorded int
	// process is the number of restarts so far.
	process int
	// late is set if rows arrive long after the end of their span: only bounds hold.
	late bool
	// more is the number of further rows of each window. Their functions have names of a
	// kilobyte, so that the store gets full.
	more int
}

type historySpan struct {
	trace.Span
	ctx           context.Context
	id, trace     string
	name, service string
	route         string
	start, end    time.Time
	parent        *historySpan
	root, listed  bool
	err           bool
	process       int
	// arrived is the number of windows that came before the end.
	arrived int
}

type historyWindow struct {
	kind       exporter.Kind
	service    string
	start, end time.Time
	types      []string
	rows       []historyRow
	process    int
}

type historyRow struct {
	stack  string
	values []int64
	labels map[string]string
	of     *historySpan // that the ids name, nil for none
	after  *historySpan // that had ended
	late   bool
	count  int64
}

// idGenerator makes the ids of spans from the history's seed.
type idGenerator struct{ *rand.Rand }

func (g idGenerator) NewIDs(ctx context.Context) (t trace.TraceID, _ trace.SpanID) {
	binary.BigEndian.PutUint64(t[:], g.Uint64()|1)
	return t, g.NewSpanID(ctx, t)
}

func (g idGenerator) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	binary.BigEndian.PutUint64(s[:], g.Uint64()|1)
	return s
}

var historyServices = []string{"billing", "checkout"}

func newHistory(t *testing.T, seed uint64, opts ...store.Option) *chronicle {
	h := &chronicle{Rand: rand.New(rand.NewPCG(seed, 35)), t: t, seed: seed, opts: opts, now: time.Now().Round(0).UTC()}
	h.ids = idGenerator{rand.New(rand.NewPCG(seed, 36))}
	h.begin()
	return h
}

// begin starts a process with a store of its own.
func (h *chronicle) begin() {
	h.store = newStore(h.t, h.opts...)
	h.tracers = make(map[string]trace.Tracer)
	h.received, h.recorded = 0, 0
	for _, service := range historyServices {
		h.tracers[service] = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(h.store.SpanProcessor()),
			sdktrace.WithIDGenerator(h.ids), sdktrace.WithResource(resourceOf(service))).Tracer("")
		h.window(service, exporter.KindCPU)
	}
}

func resourceOf(service string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", service))
}

func (h *chronicle) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d, step %d: %s", h.seed, h.steps, fmt.Sprintf(format, args...))
}

func pick[T any](h *chronicle, list []T) T { return list[h.IntN(len(list))] }

// tick returns a later moment, which no other event has.
func (h *chronicle) tick() time.Time {
	h.now = h.now.Add(time.Duration(1 + h.IntN(1_000_000)))
	return h.now
}

func (h *chronicle) step() {
	h.steps++
	switch n := h.IntN(10); {
	case n < 3:
		h.startSpan()
	case n < 6 && len(h.open) > 0:
		i := h.IntN(len(h.open))
		if h.more > 0 && h.now.Sub(h.open[0].start) > 20*step {
			i = 0 // before its first windows are evicted
		}
		h.endSpan(h.open[i])
		h.open = slices.Delete(h.open, i, i+1)
	case n < 9:
		h.window(pick(h, historyServices), pick(h, h.kinds()))
	default:
		h.now = h.now.Add(3 * step) // no profiles for some time
	}
}

// kinds returns the kinds of profiles, each as often as it comes.
func (h *chronicle) kinds() []exporter.Kind {
	if h.more > 0 { // heap profiles evict each other
		return []exporter.Kind{exporter.KindCPU, exporter.KindCPU, exporter.KindWall}
	}
	return []exporter.Kind{exporter.KindCPU, exporter.KindCPU, exporter.KindWall, exporter.KindHeap}
}

// startSpan starts a local root, with or without a remote parent, or a child. Some
// children have a profile of their own.
func (h *chronicle) startSpan() *historySpan {
	s := &historySpan{service: pick(h, historyServices), route: fmt.Sprint("/", h.IntN(3)), start: h.tick(), root: true, listed: true, process: h.process}
	s.name = "GET " + s.route
	s.ctx = h.t.Context()
	attributes := []attribute.KeyValue{attribute.String("http.route", s.route)}
	switch n := h.IntN(6); {
	case n == 0:
		s.ctx = trace.ContextWithRemoteSpanContext(s.ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{9, byte(h.IntN(9))}, SpanID: trace.SpanID{9}, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	case n < 4 && len(h.open) > 0:
		s.parent = pick(h, h.open)
		s.ctx, s.service, s.root, s.listed = s.parent.ctx, s.parent.service, false, s.parent.listed && n > 1
		s.name = "query " + s.route
		attributes = append(attributes, attribute.String("pyroscope.profile.id", "x"))
		if !s.listed {
			attributes = nil // other tests cover the attributes of children
		}
	}
	s.ctx, s.Span = h.tracers[s.service].Start(s.ctx, s.name, trace.WithTimestamp(s.start), trace.WithAttributes(attributes...))
	s.id, s.trace = s.SpanContext().SpanID().String(), s.SpanContext().TraceID().String()
	h.open = append(h.open, s)
	return s
}

func (h *chronicle) endSpan(s *historySpan) {
	s.end = h.tick()
	if s.err = s.listed && h.IntN(4) == 0; s.err {
		s.SetStatus(codes.Error, "refused")
	}
	before := h.store.Info().Generation
	s.End(trace.WithTimestamp(s.end))
	if s.listed && h.store.Info().Generation == before {
		h.fail("a span ended, and the generation is still %d", before)
	}
	s.arrived = len(h.windows)
	h.ended = append(h.ended, s)
	if s.listed {
		h.recorded++
	}
}

// window exports a profile of the time that has just passed.
func (h *chronicle) window(service string, kind exporter.Kind) {
	w := &historyWindow{kind: kind, service: service, start: h.now, end: h.now.Add(step), process: h.process}
	h.now = w.end
	time.Sleep(time.Until(h.now)) // by the clock of a synctest bubble
	w.types = []string{"samples", "cpu"}
	switch kind {
	case exporter.KindWall:
		w.types[1] = "wall"
	case exporter.KindHeap:
		w.types = []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
	}
	var in []sample
	for i := range h.IntN(7) + h.more {
		r := h.row(w)
		if i < h.more {
			r = historyRow{stack: fmt.Sprintf("main;%01000d", h.Uint64()), count: 1, values: []int64{1, int64(tick)}}
		}
		in = append(in, sample{r.stack, r.count, r.labels})
		w.rows = append(w.rows, r)
	}
	p := cpuProfile(in...)
	p.SampleType = nil
	for _, name := range w.types {
		unit := "nanoseconds"
		if name == "samples" || strings.HasSuffix(name, "objects") {
			unit = "count"
		} else if strings.HasSuffix(name, "space") {
			unit = "bytes"
		}
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	for i := range w.rows {
		p.Sample[i].Value = w.rows[i].values
	}
	h.windows = append(h.windows, w)
	h.received++
	before := h.store.Info().Generation
	export(h.t, h.store, exporter.NewParsedProfile(exporter.Window{Kind: kind, Start: w.start, Duration: step, Resource: resourceOf(service)}, p))
	if h.store.Info().Generation <= before {
		h.fail("a window came, and the generation is still %d", before)
	}
}

// row returns a random row of a window: of spans that run or have ended, of spans that
// never get a record, of manual exemplars, of no span.
func (h *chronicle) row(w *historyWindow) historyRow {
	r := historyRow{stack: fmt.Sprint("main;serve;f", h.IntN(5)), count: 1 + h.Int64N(4)}
	r.values = []int64{r.count, r.count * int64(tick)}
	r.labels = labels("lane", fmt.Sprint(h.IntN(3)))
	if w.kind == exporter.KindHeap {
		// Momentary values differ from the sums.
		n := h.Int64N(9)
		r.values = []int64{r.count, r.count * 512, n, n * 512}
		r.labels = nil
		r.count = 1
		return r
	}
	var spans []*historySpan
	for _, s := range slices.Concat(h.open, h.ended[max(0, len(h.ended)-100):]) {
		// A sample is in time in the two windows after the end.
		inTime := s.end.IsZero() || s.end.After(w.start.Add(-step))
		isLate := h.late && !s.end.IsZero() && s.end.Before(w.start.Add(-4*step))
		if s.listed && s.process == h.process && s.service == w.service && (inTime || isLate) {
			spans = append(spans, s)
		}
	}
	set := func(keyValues ...string) { maps.Copy(r.labels, labels(keyValues...)) }
	if len(spans) > 0 && h.IntN(4) > 0 {
		s := pick(h, spans)
		r.of = s
		r.late = !s.end.IsZero() && s.end.Before(w.start.Add(-4*step))
		set("profile_id", s.id, "span_id", s.id, "trace_id", s.trace, "span_name", s.name)
		if n := h.IntN(6); n == 0 {
			delete(r.labels, "profile_id")
		} else if n == 1 && !s.end.IsZero() {
			delete(r.labels, "span_id")
		}
		return r
	}
	switch h.IntN(4) {
	case 0: // a span without a record
		id := fmt.Sprintf("%016x", h.Uint64()|1)
		set("profile_id", id, "span_id", id, "span_name", "elsewhere")
	case 1: // a manual exemplar
		set("profile_id", fmt.Sprint("job ", h.IntN(3), " of ", w.service), "span_name", "job")
	case 2: // after the end of a span
		if of := slices.DeleteFunc(slices.Clone(spans), func(s *historySpan) bool { return s.end.IsZero() }); len(of) > 0 {
			r.after = pick(h, of)
			set("ended_span_id", r.after.id)
		}
	}
	return r
}

// view opens a view of a store, which the end of the test closes.
func (h *chronicle) view(s *store.Store) store.View {
	v, err := s.View(h.t.Context(), time.Time{}, time.Time{})
	if err != nil {
		h.fail("View: %v", err)
	}
	return v
}

func must[A any](h *chronicle) func(A, error) A {
	return func(a A, err error) A {
		h.t.Helper()
		if err != nil {
			h.fail("%v", err)
		}
		return a
	}
}

// check compares all answers of a store.
func (h *chronicle) check(s *store.Store) {
	h.t.Helper()
	v := h.view(s)
	defer v.Close()
	held := h.held(v)
	h.checkSpans(v, held)
	h.checkNames(v, held)
	for range 4 {
		h.checkSums(v, held)
	}
	// A view is about one moment.
	sums := must[*store.Samples](h)(v.Samples(store.Query{Stacks: true, Kind: exporter.KindCPU}))
	if s == h.store && h.IntN(4) == 0 {
		h.window("checkout", exporter.KindCPU)
		again := must[*store.Samples](h)(v.Samples(store.Query{Stacks: true, Kind: exporter.KindCPU}))
		if again.Total != sums.Total || again.Windows != sums.Windows {
			h.fail("a view has %d in %d windows, then %d in %d", sums.Total, sums.Windows, again.Total, again.Windows)
		}
		next := h.view(s)
		h.held(next)
		next.Close()
	}
}

// finish ends all spans, and compares the sums over whole requests.
func (h *chronicle) finish() {
	for _, s := range h.open {
		h.endSpan(s)
	}
	h.open = nil
	for _, service := range historyServices {
		h.window(service, exporter.KindCPU)
	}
	h.check(h.store)
	h.checkStats()
	v := h.view(h.store)
	defer v.Close()
	for _, s := range must[store.SpanList](h)(v.Spans(store.SpanQuery{})).Spans {
		i := slices.IndexFunc(h.ended, func(of *historySpan) bool { return of.id == s.ProfileID })
		if i < 0 || h.late || h.more > 0 || s.Earlier {
			continue
		}
		if want := h.below(h.ended[i]); s.CPUInclusive != want {
			h.fail("%s: %s of CPU with the spans below, want %s", s.ProfileID, s.CPUInclusive, want)
		}
		if name, of, ok := h.store.Lookup(s.ProfileID); !ok || name != s.Name || of != s.TraceID {
			h.fail("Lookup of %s: %q, %q, %t", s.ProfileID, name, of, ok)
		}
	}
}

// restart ends the process and begins the next one.
func (h *chronicle) restart() {
	h.open = nil // these spans never end
	for _, service := range historyServices {
		h.window(service, exporter.KindCPU)
	}
	if err := h.store.Shutdown(h.t.Context()); err != nil {
		h.fail("Shutdown: %v", err)
	}
	time.Sleep(time.Second) // of the bubble: processes differ in when they began
	h.process++
	h.begin()
	synctest.Wait() // until the earlier windows are restored
}

// TestHistories compares stores that have room for everything with lists of all spans
// and rows, in random histories.
func TestHistories(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed)
			h.late = seed%4 == 3
			for range 20 + h.IntN(60) {
				h.step()
				if h.IntN(8) == 0 {
					h.check(h.store)
				}
			}
			h.finish()
		})
	}
}

// TestHistoriesWithRestarts does the same over several processes with one directory.
func TestHistoriesWithRestarts(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			directory := t.TempDir()
			h := newHistory(t, seed, store.WithDirectory(directory, 16<<20))
			defer func() { _ = h.store.Shutdown(context.Background()) }() // if it fails before
			for i := range 60 {
				h.step()
				if i%20 == 19 {
					h.restart()
					h.check(h.store)
				}
			}
			h.finish()
			if err := h.store.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := store.OpenDirectory(directory, func(err error) { h.fail("left out: %v", err) })
			if err != nil {
				t.Fatal(err)
			}
			h.process++ // to it, all are earlier
			h.check(s)
		})
	}
}

// TestHistoriesThatEvict does the same in stores that get full several times over: some
// spans outlive the windows of their samples, and nothing else is left of these.
func TestHistoriesThatEvict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, 1, store.WithMaxBytes(8<<20))
		h.more = 60
		for i := range 300 {
			if h.step(); i%60 == 59 {
				h.check(h.store)
			}
		}
		h.finish()
		if s := h.store.Stats(); s.WindowsEvicted < 30 || s.Bytes > s.MaxBytes || s.Bytes < s.MaxBytes/2 {
			h.fail("%+v", s)
		}
	})
}
