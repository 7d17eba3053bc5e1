// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
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

// What a busy service leaves in ten minutes.
const (
	busyWindows = 60
	busySpans   = 20_000
	busySamples = 100_000
	busyNames   = 640
)

var busyService = resource.NewSchemaless(attribute.String("service.name", "busy"))

// newBusyStore fills a store with the windows of a busy service, which end now. It returns
// the id of one of the spans with most samples.
func newBusyStore(t *testing.T) (s *store.Store, most string) {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(busyService), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	random := rand.New(rand.NewPCG(1, 2))
	cpu := newCPU()
	stacks := busyStacks(random, cpu)
	start := time.Now().Add(-busyWindows * shopWindow)
	for w := range busyWindows {
		at := start.Add(time.Duration(w) * shopWindow)
		cpu.Sample = nil
		for i := busySpans * w / busyWindows; i < busySpans*(w+1)/busyWindows; i++ {
			// One span in a hundred takes most of the time.
			samples, took := 4, time.Duration(20+i%60)*time.Millisecond
			if i%100 == 0 {
				samples, took = 104, time.Duration(1200+i%800)*time.Millisecond
			}
			name := fmt.Sprintf("GET /resource/%d", i%busyNames)
			from := at.Add(time.Duration(random.Int64N(int64(shopWindow - 2*time.Second))))
			_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(from), trace.WithAttributes(
				attribute.String("http.route", name[4:]), attribute.String("url.query", fmt.Sprint("page=", i))))
			id := span.SpanContext().SpanID().String()
			span.SetAttributes(attribute.String("pyroscope.profile.id", id))
			if i%200 == 7 {
				span.SetStatus(codes.Error, "out of stock")
			}
			span.End(trace.WithTimestamp(from.Add(took)))
			labels := map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {span.SpanContext().TraceID().String()}, "span_name": {name}}
			for range samples {
				// Stacks are as uneven as in life.
				stack := stacks[random.IntN(1+random.IntN(len(stacks)))]
				cpu.Sample = append(cpu.Sample, &profile.Sample{Location: stack, Value: []int64{1, 1e7}, Label: labels})
			}
			if samples > 4 {
				most = id
			}
		}
		window := exporter.Window{Kind: exporter.KindCPU, Start: at, Duration: shopWindow, Resource: busyService}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, &cpu.Profile)); err != nil {
			t.Fatal(err)
		}
	}
	if stats := s.Stats(); stats.Spans != busySpans || stats.Windows != busyWindows || stats.WindowsEvicted != 0 {
		t.Fatalf("the store has not all that was put into it: %+v", stats)
	}
	return s, most
}

// busyStacks returns 2,000 stacks of 30 frames out of 3,000 functions, which are in p.
func busyStacks(random *rand.Rand, p *cpuProfile) [][]*profile.Location {
	stacks := make([][]*profile.Location, 2000)
	for i := range stacks {
		stack := make([]string, 30)
		for k := range stack {
			// The nearer to the root, which comes last, the fewer functions.
			n := random.IntN(min(3000, 2<<(k/2)))
			stack[len(stack)-1-k] = fmt.Sprintf("example.org/busy/internal/package%d.(*Type%d).Method%d", n%90, n%400, n)
		}
		p.add([]int64{1, 1e7}, nil, stack...)
		stacks[i] = p.Sample[i].Location
	}
	return stacks
}

// heldSource is a store with sums by stack that wait until release is closed.
type heldSource struct {
	store.Source
	once           sync.Once
	asked, release chan struct{}
}

func (s *heldSource) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.Source.View(ctx, from, until)
	return &heldView{v, s}, err
}

type heldView struct {
	store.View
	source *heldSource
}

func (v *heldView) Samples(q store.Query) (*store.Samples, error) {
	if !q.Stacks {
		return v.View.Samples(q)
	}
	v.source.once.Do(func() { close(v.source.asked) })
	<-v.source.release
	return v.View.Samples(q)
}

// TestListBesideGraph has the list answer while the graph of a whole process is being built: first
// one that is not finished before the list has answered, then one that takes its time.
func TestListBesideGraph(t *testing.T) {
	s, _ := newBusyStore(t)
	source := &heldSource{Source: s, asked: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(source.release) })
	server := httptest.NewServer(viewer.Handler(source))
	t.Cleanup(server.Close)
	t.Cleanup(release) // The server waits for its requests.
	address := server.URL + "/"
	list := func() {
		t.Helper()
		if n := len(answerOf[struct{ Spans []listedSpan }](t, address+"?format=json&limit=500").Spans); n != 500 {
			t.Errorf("the list has %d spans, want 500", n)
		}
	}
	graph := address + "?query=.cpu"
	b := newBrowser(t)
	b.run("the graph", navigate(graph), until(`document.querySelector('main').innerText === 'Summing the samples …'`))
	select {
	case <-source.asked:
	case <-time.After(stepTime):
		t.Fatal("the page has not asked for the graph")
	}
	list()
	b.run("the graph is not there yet", until(`document.querySelector('main').innerText === 'Summing the samples …'`))
	release()
	b.run("it is there", visible(`.graph canvas`))
	shows(b, "the samples", samplesTile, "100,000")
	b.check(address)

	// Its answer is not kept: the source has no generations.
	built, took := make(chan error, 1), time.Duration(0)
	go func() {
		began := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, graph+"&format=json", nil)
		if err == nil {
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(r); err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
		took = time.Since(began)
		built <- err
	}()
	for lists, longest := 1, time.Duration(0); ; lists++ {
		began := time.Now()
		list()
		longest = max(longest, time.Since(began))
		select {
		case err := <-built:
			if err != nil {
				t.Error(err)
			}
			t.Logf("while the graph took %d ms, %d lists were answered; the longest took %d ms", took.Milliseconds(), lists, longest.Milliseconds())
			return
		default:
		}
	}
}
