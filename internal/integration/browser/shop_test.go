// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// A shop has so many windows of profiles, each so long.
const (
	shopWindows = 72
	shopWindow  = 10 * time.Second
)

var ofShop = resource.NewSchemaless(attribute.String("service.name", "shop"))

// shop is a service with the requests of some minutes. GET /search does most of its work in
// a child span, and more of it since the last version. POST /order only waits. Each span has a
// profile of its own.
type shop struct {
	store   *store.Store
	address string // of its page
	start   time.Time
	// failed is the trace of a request that failed, and its span.
	failed, failedSpan string
}

// newShop fills a store with windows that end now. The last half of them are of version 2.
func newShop(t *testing.T, opts ...viewer.Option) *shop {
	t.Helper()
	o := &shop{store: newStore(t), start: time.Now().Add(-shopWindows * shopWindow)}
	for i := range shopWindows {
		o.window(t, i, "v"+strconv.Itoa(1+i*2/shopWindows))
	}
	o.address = serve(t, o.store, opts...)
	return o
}

// window adds the i-th window.
func (o *shop) window(t *testing.T, i int, version string) {
	t.Helper()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", version))
	tracer := newTracer(o.store, res)
	at := o.start.Add(time.Duration(i) * shopWindow)
	cpu, wall := newCPU(), newCPU()
	wall.SampleType = []*profile.ValueType{{Type: "wall", Unit: "nanoseconds"}}
	for k, r := range []struct {
		name, route string
		samples     int64
		took        time.Duration
	}{{"GET /search", "/search", int64(4 + i%5), 400 * time.Millisecond}, {"GET /cart", "/cart", 3, 90 * time.Millisecond}, {"POST /order", "/order", 0, 700 * time.Millisecond}} {
		if version == "v2" && k == 0 {
			r.samples *= 2
		}
		from := at.Add(time.Duration(k) * time.Second)
		ctx, root := tracer.Start(t.Context(), r.name, trace.WithTimestamp(from), trace.WithAttributes(attribute.String("http.route", r.route), attribute.String("url.query", fmt.Sprint("page=", i))))
		id := root.SpanContext().SpanID().String()
		root.SetAttributes(attribute.String("pyroscope.profile.id", id))
		if r.samples > 0 {
			cpu.add([]int64{r.samples, r.samples * 1e7}, ofSpan(root, r.name), "main.handle", "main.serve")
		}
		if k == 0 {
			text := fmt.Sprintf("SELECT id FROM items WHERE kind = kind%d", i%2)
			_, child := tracer.Start(ctx, "query", trace.WithTimestamp(from), trace.WithAttributes(attribute.String("db.query.text", text)))
			child.SetAttributes(attribute.String("pyroscope.profile.id", child.SpanContext().SpanID().String()))
			n := int64(3 + i%2*4)
			cpu.add([]int64{n, n * 1e7}, ofSpan(child, "query"), "sql.scan", "sql.query", "main.handle", "main.serve")
			child.End(trace.WithTimestamp(from.Add(r.took / 2)))
		}
		if k == 2 && i%10 == 9 {
			root.SetStatus(codes.Error, "card declined")
			o.failed, o.failedSpan = root.SpanContext().TraceID().String(), id
		}
		root.End(trace.WithTimestamp(from.Add(r.took + time.Duration(i)*time.Millisecond)))
		wall.add([]int64{int64(r.took)}, ofSpan(root, r.name), "net.wait", "main.handle", "main.serve")
	}
	cpu.add([]int64{1, 1e7}, nil, "runtime.gcBgMarkWorker")
	for kind, p := range map[exporter.Kind]*cpuProfile{exporter.KindWall: wall, exporter.KindCPU: cpu} {
		export(t, o.store, exporter.Window{Kind: kind, Start: at, Duration: shopWindow, Resource: res}, p)
	}
}

func newStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTracer(s *store.Store, res *resource.Resource) trace.Tracer {
	return sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
}

// serve returns the address of a page of a source.
func serve(t *testing.T, s store.Source, opts ...viewer.Option) string {
	t.Helper()
	server := httptest.NewServer(viewer.Handler(s, opts...))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func export(t *testing.T, s *store.Store, w exporter.Window, p *cpuProfile) {
	t.Helper()
	if err := s.Export(t.Context(), exporter.NewParsedProfile(w, &p.Profile)); err != nil {
		t.Fatal(err)
	}
}

// ofSpan returns the labels of a span's samples.
func ofSpan(span trace.Span, name string) map[string][]string {
	id := span.SpanContext().SpanID().String()
	return map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {span.SpanContext().TraceID().String()}, "span_name": {name}}
}

// cpuProfile is a profile that is being made.
type cpuProfile struct {
	profile.Profile
	known map[string]*profile.Location
}

func newCPU() *cpuProfile {
	return &cpuProfile{Profile: profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
	}, known: map[string]*profile.Location{}}
}

// add adds a sample; its stack begins at the leaf.
func (p *cpuProfile) add(values []int64, labels map[string][]string, stack ...string) {
	s := &profile.Sample{Value: values, Label: labels}
	for _, name := range stack {
		l := p.known[name]
		if l == nil {
			id := uint64(len(p.Function) + 1)
			fn := &profile.Function{ID: id, Name: name, Filename: "/src/" + name + ".go"}
			l = &profile.Location{ID: id, Address: id, Line: []profile.Line{{Function: fn, Line: 1}}}
			p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
			p.known[name] = l
		}
		s.Location = append(s.Location, l)
	}
	p.Sample = append(p.Sample, s)
}
