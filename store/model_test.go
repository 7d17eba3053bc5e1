// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// model is what a store should say, without bounds, tables, lists and indexes.
type model struct {
	records []*modelSpan
	// known has the record that an id names now, orphans the samples of ids without
	// one.
	known   map[uint64]*modelSpan
	orphans map[uint64]*modelSamples
	windows []modelWindow
	until   int64
	came    bool
}

type modelSpan struct {
	id, parent         uint64
	name               string
	start, end         int64
	root, running, err bool
	modelSamples
}

type modelSamples struct {
	CPU, Below        time.Duration
	Count, Wall, Held int64
}

type modelWindow struct {
	kind   exporter.Kind
	groups []modelGroup
}

// modelGroup is samples that name a profile and a span, 0 for none.
type modelGroup struct {
	profile, span uint64
	modelSamples
}

func (s *modelSamples) add(o modelSamples) {
	s.CPU += o.CPU
	s.Count += o.Count
	s.Wall += o.Wall
	s.Held += o.Held
}

func (m *model) orphan(id uint64) *modelSamples {
	if m.orphans[id] == nil {
		m.orphans[id] = &modelSamples{}
	}
	return m.orphans[id]
}

func (m *model) start(s *modelSpan) {
	m.records = append(m.records, s)
	m.known[s.id] = s
}

// end ends a span; started says that the store knew of its start.
func (m *model) end(s modelSpan) {
	r := m.known[s.id]
	if r == nil || !r.running {
		r = &modelSpan{}
		m.records = append(m.records, r)
		m.known[s.id] = r
	}
	s.modelSamples = r.modelSamples
	*r = s
	if o := m.orphans[s.id]; o != nil {
		delete(m.orphans, s.id)
		r.add(*o)
		r.Below += o.Below
		m.climb(r, 0, o.CPU+o.Below)
	}
}

// climb adds CPU time to the spans above one, but for one that has it.
func (m *model) climb(r *modelSpan, except uint64, cpu time.Duration) {
	for range 100 {
		if cpu == 0 || r.root || r.parent == 0 {
			return
		}
		above := m.known[r.parent]
		if above == nil {
			m.orphan(r.parent).Below += cpu
			return
		}
		if r.parent != except {
			above.Below += cpu
		}
		r = above
	}
}

func (m *model) export(w modelWindow, end int64) {
	if w.kind == exporter.KindCPU {
		if !m.came || end > m.until || end < m.until-60e9 {
			m.until = end
		}
		m.came = true
	}
	for _, g := range w.groups {
		for i, id := range []uint64{g.span, g.profile} {
			if id == 0 || i == 1 && id == g.span {
				continue
			}
			if r := m.known[id]; r != nil {
				r.add(g.modelSamples)
			} else {
				m.orphan(id).add(g.modelSamples)
			}
		}
		if r := m.known[g.span]; g.span != 0 && r != nil {
			m.climb(r, g.profile, g.CPU)
		} else if r := m.known[g.profile]; g.span == 0 && r != nil {
			m.climb(r, 0, g.CPU)
		}
	}
	m.windows = append(m.windows, w)
}

func (m *model) evict() {
	for _, g := range m.windows[0].groups {
		for i, id := range []uint64{g.span, g.profile} {
			if id == 0 || i == 1 && id == g.span {
				continue
			}
			held := g.Held
			// What came before the start of a span waits for its end.
			if o := m.orphans[id]; o != nil {
				n := min(held, o.Held)
				o.Held -= n
				held -= n
			}
			if r := m.known[id]; r != nil {
				r.Held = max(0, r.Held-held)
			}
		}
	}
	m.windows = m.windows[1:]
}

// history makes one random history and gives it to the store and to the model.
type history struct {
	*rand.Rand
	model
	store *store.Store
	spans sdktrace.SpanProcessor
	now   time.Time
	// ids are few, so that spans have one in common.
	ids []uint64
}

func spanIDOf(id uint64) (s trace.SpanID) {
	binary.BigEndian.PutUint64(s[:], id)
	return s
}

func (h *history) stub(s *modelSpan) sdktrace.ReadOnlySpan {
	of := trace.TraceID{1}
	stub := tracetest.SpanStub{
		Name:        s.name,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: spanIDOf(s.id)}),
		StartTime:   time.Unix(0, s.start),
		EndTime:     time.Unix(0, s.end),
		Resource:    checkout,
		Attributes:  []attribute.KeyValue{attribute.String("pyroscope.profile.id", "x")},
	}
	if s.parent != 0 {
		stub.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: spanIDOf(s.parent), Remote: s.root})
	}
	if s.err {
		stub.Status.Code = codes.Error
	}
	return stub.Snapshot()
}

func (h *history) pick() uint64 { return h.ids[h.IntN(len(h.ids))] }

func (h *history) step(t *testing.T) {
	switch h.IntN(10) {
	case 0, 1, 2:
		s := modelSpan{id: h.pick(), name: fmt.Sprint("GET /", h.IntN(4)), start: h.now.UnixNano(), root: true, running: true}
		h.spans.OnStart(context.Background(), readWriteSpan{span: h.stub(&s)})
		h.start(&s)
	case 3, 4, 5:
		s := modelSpan{id: h.pick(), root: h.IntN(2) == 0, name: fmt.Sprint("GET /", h.IntN(4)), err: h.IntN(4) == 0}
		if s.parent = h.pick(); h.IntN(4) == 0 || s.parent == s.id {
			s.parent, s.root = 0, true
		}
		s.start, s.end = h.now.UnixNano(), h.now.Add(time.Duration(h.IntN(20))*time.Second).UnixNano()
		if r := h.known[s.id]; r != nil && r.running {
			s.start = r.start
			s.end = max(s.end, s.start)
		}
		h.spans.OnEnd(h.stub(&s))
		h.end(s)
	case 6, 7:
		h.window(t)
	case 8:
		if len(h.windows) > 0 {
			h.store.EvictOldest()
			h.evict()
		}
	case 9:
		h.now = h.now.Add(time.Duration(h.IntN(30)) * time.Second)
		if h.IntN(5) == 0 {
			// The clock is set.
			h.now = h.now.Add(time.Duration(h.IntN(40)-20) * time.Hour)
		}
	}
}

// window exports a profile with labels of all shapes.
func (h *history) window(t *testing.T) {
	w := modelWindow{kind: []exporter.Kind{exporter.KindCPU, exporter.KindCPU, exporter.KindWall, exporter.KindHeap}[h.IntN(4)]}
	var samples []sample
	for i := range h.IntN(6) {
		count := 1 + h.Int64N(3)
		id := h.pick()
		hex := fmt.Sprintf("%016x", id)
		g := modelGroup{profile: id, span: id, modelSamples: modelSamples{Held: count}}
		switch w.kind {
		case exporter.KindCPU:
			g.CPU, g.Count = time.Duration(count)*tick, count
		case exporter.KindWall:
			g.Wall = count
		}
		l := labels("profile_id", hex, "span_id", hex, "trace_id", fmt.Sprintf("%032x", 1), "span_name", "GET /", "i", strconv.Itoa(i))
		switch h.IntN(8) {
		case 0:
			delete(l, "span_id")
			g.span = 0
		case 1:
			delete(l, "profile_id")
			g.profile = 0
		case 2:
			// Both are known; where one is not, it may be an exemplar.
			if other := h.pick(); h.known[other] != nil && h.known[id] != nil {
				l["profile_id"] = fmt.Sprintf("%016x", other)
				g.profile = other
			}
		case 3:
			l["profile_id"], g.profile = "job 7", 0
			delete(l, "span_id")
			g.span = 0
		case 4:
			l["span_id"], l["profile_id"] = "not an id", ""
			g.span, g.profile = 0, 0
		case 5:
			l = labels("trace_id", "zz", "i", strconv.Itoa(i))
			g.span, g.profile = 0, 0
		case 6:
			l["trace_id"] = "not 32 digits"
		}
		samples = append(samples, sample{fmt.Sprint("main;f", h.IntN(5)), count, l})
		w.groups = append(w.groups, g)
	}
	start := h.now.Add(-time.Duration(h.IntN(10)) * time.Second)
	if err := h.store.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: w.kind, Start: start, Duration: step, Resource: checkout}, cpuProfile(samples...))); err != nil {
		t.Fatal(err)
	}
	h.export(w, start.Add(step).UnixNano())
}

// said is what store and model say about a span.
type said struct {
	ID, Name                           string
	Start                              int64
	Root, Running, Err, Complete, Lost bool
	modelSamples
}

func (h *history) wanted() (list []said) {
	for _, r := range h.records {
		list = append(list, said{
			ID: fmt.Sprintf("%016x", r.id), Name: r.name, Start: r.start, Root: r.root, Running: r.running, Err: r.err,
			Complete: h.came && !r.running && h.until >= r.end, modelSamples: r.modelSamples,
		})
	}
	return list
}

func (h *history) got() (list []said) {
	for _, s := range h.store.Spans(store.SpanQuery{Running: true}) {
		if s.Manual {
			continue
		}
		list = append(list, said{
			ID: s.ProfileID, Name: s.Name, Start: s.Start.UnixNano(), Root: s.LocalRoot, Running: s.Running, Err: s.Err, Complete: s.Complete, Lost: s.Loss != store.LossNone,
			modelSamples: modelSamples{CPU: s.CPU, Below: s.CPUInclusive - s.CPU, Count: s.CPUSamples, Wall: s.WallSamples, Held: s.SamplesHeld},
		})
	}
	return list
}

func compareSaid(a, b said) int {
	return cmpText(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b))
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// TestModel holds a store against a plain model in 3,000 random histories, with ids that
// come again, a clock that is set, and labels of all shapes. Where nothing is kept for
// longer than its windows, all numbers are equal; where something is, what is said to be
// held is what is found.
func TestModel(t *testing.T) {
	histories := 3000
	if testing.Short() {
		histories = 300
	}
	for seed := range histories {
		perName := seed % 3
		s := newStore(t, store.WithSpansPerName(perName))
		h := &history{
			Rand: rand.New(rand.NewPCG(uint64(seed), 20)), store: s, spans: s.SpanProcessor(), now: epoch,
			model: model{known: make(map[uint64]*modelSpan), orphans: make(map[uint64]*modelSamples)},
		}
		for range 2 + h.IntN(8) {
			h.ids = append(h.ids, h.Uint64()|1)
		}
		for i := range 5 + h.IntN(60) {
			h.step(t)
			if i%10 != 0 {
				continue
			}
			want, got := h.wanted(), h.got()
			if perName > 0 {
				// Which samples are kept for longer is for other tests.
				for _, list := range [][]said{want, got} {
					for i := range list {
						list[i].Held = 0
					}
				}
			}
			slices.SortFunc(want, compareSaid)
			slices.SortFunc(got, compareSaid)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(said{}, modelSamples{})); diff != "" {
				t.Fatalf("history %d, step %d: %s", seed, i, diff)
			}
		}
		h.checkHeld(t, seed)
		h.checkTotal(t, seed)
		for s.Look().Windows > 0 {
			s.EvictOldest()
		}
		h.checkHeld(t, seed)
		if in := s.Look(); in.Kept > 0 && (in.KeptTables == 0 || in.KeptTables > in.Tables*3/2) {
			t.Fatalf("history %d: %d bytes in the tables are kept alone, of %d", seed, in.KeptTables, in.Tables)
		}
		s.EvictKept()
		if in := s.Look(); in.Nodes != 0 || in.KeptBytes != 0 || in.KeptTables != 0 {
			t.Fatalf("history %d: left in the tables: %+v", seed, in)
		}
	}
}

// checkHeld compares what spans say to hold with what is found by their id. Of spans that
// have their id in common, only the last is found by it; one that runs has not yet what
// came before its start.
func (h *history) checkHeld(t *testing.T, seed int) {
	t.Helper()
	records := make(map[uint64]int)
	for _, r := range h.records {
		records[r.id]++
	}
	for id, n := range records {
		if n > 1 || h.known[id].running {
			continue
		}
		hex := fmt.Sprintf("%016x", id)
		span, ok := h.store.Span(hex)
		if !ok {
			t.Fatalf("history %d: no span %s", seed, hex)
		}
		found := int64(0)
		for _, kind := range h.store.Kinds(store.Query{Matchers: []store.Matcher{matcher(t, "profile_id", store.MatchEqual, hex)}}) {
			found += kind.Samples
		}
		if found != span.SamplesHeld {
			t.Fatalf("history %d: %s holds %d samples, found %d", seed, hex, span.SamplesHeld, found)
		}
	}
}

// checkTotal compares the CPU time of all samples held.
func (h *history) checkTotal(t *testing.T, seed int) {
	t.Helper()
	var want time.Duration
	for _, w := range h.windows {
		for _, g := range w.groups {
			want += g.CPU
		}
	}
	if got := selectCPU(t, h.store).Total; got != int64(want) {
		t.Fatalf("history %d: %d ns of CPU in all, want %d", seed, got, want)
	}
}
