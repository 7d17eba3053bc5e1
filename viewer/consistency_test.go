// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// An answer is made of several queries. While profiles come and go, all of them must be
// about the same profiles: each of these answers has one number in two places.
func TestAnswersDoNotContradictThemselves(t *testing.T) {
	s, err := store.New(store.WithMaxBytes(8 << 20))
	if err != nil {
		t.Fatal(err)
	}
	busy := newBusyProgram(t, s)
	// Let the store evict windows before the first request.
	for s.Stats().WindowsEvicted == 0 {
		busy.export(t)
	}
	h := viewer.Handler(s)

	requests, windows := 25, 100
	if testing.Short() {
		requests, windows = 10, 40
	}
	for _, test := range []struct {
		name, address string
		check         func(t *testing.T, body []byte) string
	}{
		{"a query and its kinds", "/?format=json&query=" + url.QueryEscape(`.cpu{span_name="GET /search"}`), checkKinds},
		{"the whole process", "/?format=json&query=.cpu", checkKinds},
		{"a span", "/?format=json&query=" + url.QueryEscape(`.cpu{profile_id="`+busySpan.String()+`"}`), checkSpan},
		{"a comparison with itself", "/comparison?format=json&query=.cpu", checkComparison},
		{"the list of spans", "/?format=json&limit=1", checkList},
		{"the log", "/log?format=json", checkLog},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, contradictions, example := 0, 0, ""
			var exporting sync.WaitGroup
			exporting.Go(func() {
				for range windows {
					busy.export(t)
				}
			})
			defer exporting.Wait()
			for ; n < requests; n++ {
				r := httptest.NewRequest(http.MethodGet, test.address, nil)
				r.Host = "localhost"
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Fatalf("status %d: %s", w.Code, w.Body)
				}
				if what := test.check(t, w.Body.Bytes()); what != "" {
					contradictions, example = contradictions+1, what
				}
			}
			if contradictions > 0 {
				t.Errorf("%d of %d answers contradict themselves, the last with %s", contradictions, n, example)
			}
		})
	}
}

func decode(t *testing.T, body []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatal(err)
	}
}

type kindCount struct {
	Type    string
	Samples int64
}

// checkKinds compares the samples of the profile with those announced for it.
func checkKinds(t *testing.T, body []byte) string {
	var a struct {
		Samples int64
		Kinds   []kindCount
	}
	decode(t, body, &a)
	if cpu := cpuSamples(a.Kinds); cpu != a.Samples || cpu == 0 {
		return fmt.Sprintf("samples %d, kinds[cpu] %d", a.Samples, cpu)
	}
	return ""
}

// cpuSamples returns the samples of the kind cpu, 0 if it is missing. The store is full
// from the first request on.
func cpuSamples(kinds []kindCount) int64 {
	for _, k := range kinds {
		if k.Type == "cpu" {
			return k.Samples
		}
	}
	return 0
}

// checkSpan compares the samples of the profile with the span's summary.
func checkSpan(t *testing.T, body []byte) string {
	var a struct {
		Samples int64
		Span    struct{ SamplesHeld int64 }
	}
	decode(t, body, &a)
	if a.Samples != a.Span.SamplesHeld {
		return fmt.Sprintf("samples %d, span.samplesHeld %d", a.Samples, a.Span.SamplesHeld)
	}
	return checkKinds(t, body)
}

// checkComparison compares the sides of a comparison of a query with itself.
func checkComparison(t *testing.T, body []byte) string {
	var c struct {
		Left, Right struct{ Total, Samples int64 }
	}
	decode(t, body, &c)
	if c.Left != c.Right || c.Left.Samples == 0 {
		return fmt.Sprintf("left %+v, right %+v", c.Left, c.Right)
	}
	return ""
}

// checkList compares the CPU time of the names with the samples of the process. All samples are
// of a span with a name.
func checkList(t *testing.T, body []byte) string {
	var l struct {
		Groups  []struct{ CPUNs int64 }
		Process []kindCount
	}
	decode(t, body, &l)
	var sum int64
	for _, g := range l.Groups {
		sum += g.CPUNs
	}
	if cpu := cpuSamples(l.Process); cpu*busyPeriod != sum || cpu == 0 {
		return fmt.Sprintf("groups of %d ns, process of %d samples", sum, cpu)
	}
	return ""
}

// checkLog compares the windows by kind with those held, and with those received
// less those evicted.
func checkLog(t *testing.T, body []byte) string {
	var l struct {
		Stats struct{ Windows, WindowsReceived, WindowsEvicted int }
		Kinds []struct{ Windows int }
	}
	decode(t, body, &l)
	sum := 0
	for _, k := range l.Kinds {
		sum += k.Windows
	}
	if sum == 0 || sum != l.Stats.Windows || l.Stats.WindowsReceived-l.Stats.WindowsEvicted != sum {
		return fmt.Sprintf("%d windows by kind, %+v", sum, l.Stats)
	}
	return ""
}

const busyPeriod = 1e7

var busySpan = trace.SpanID{7: 1}

// busyProgram exports windows of one second, one after the other. One span that ended and many
// others have samples.
type busyProgram struct {
	store    *store.Store
	resource *resource.Resource
	start    time.Time
	windows  int
}

func newBusyProgram(t *testing.T, s *store.Store) *busyProgram {
	t.Helper()
	b := &busyProgram{
		store:    s,
		resource: resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", "1")),
		start:    time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
	}
	s.SpanProcessor().OnEnd(tracetest.SpanStub{
		Name:        "GET /search",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: busySpan}),
		StartTime:   b.start,
		EndTime:     b.start.Add(time.Hour),
		Resource:    b.resource,
	}.Snapshot())
	return b
}

func (b *busyProgram) export(t *testing.T) {
	fn := &profile.Function{ID: 1, Name: "main.search", SystemName: "main.search", Filename: "main.go"}
	loc := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: fn, Line: 1}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     busyPeriod,
		Function:   []*profile.Function{fn},
		Location:   []*profile.Location{loc},
	}
	const samples = 200
	for i := range samples {
		id := busySpan.String()
		if i > 0 {
			id = fmt.Sprintf("%016x", b.windows*samples+i+1)
		}
		p.Sample = append(p.Sample, &profile.Sample{
			Location: []*profile.Location{loc},
			Value:    []int64{1, busyPeriod},
			Label:    map[string][]string{"profile_id": {id}, "span_id": {id}, "span_name": {"GET /search"}},
		})
	}
	window := exporter.Window{Kind: exporter.KindCPU, Start: b.start.Add(time.Duration(b.windows) * time.Second), Duration: time.Second, Resource: b.resource}
	b.windows++
	if err := b.store.Export(t.Context(), exporter.NewParsedProfile(window, p)); err != nil {
		t.Error(err)
	}
}
