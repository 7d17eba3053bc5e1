// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/profiler"
)

// halfRefusing is a destination that refuses every other profile.
type halfRefusing struct{ sent int }

func (d *halfRefusing) Send(context.Context, *exporter.Profile) error {
	d.sent++
	if d.sent%2 == 0 {
		return errors.New("400 no room")
	}
	return nil
}

func (*halfRefusing) Shutdown(context.Context) error { return nil }

// Whatever an exporter beside the store does, its account adds up to what was measured.
// Status, page, log, metrics and Flush agree.
func TestLanesAgree(t *testing.T) {
	const flushes = 60
	for _, tt := range []struct {
		name   string
		make   func(*testing.T, stuck) exporter.Exporter
		want   exporter.Status // after the flushes
		flush  string          // the last one
		report string
		losses bool // are what is reported, each once; otherwise the text comes once, if there is one
	}{
		{
			"failing", func(*testing.T, stuck) exporter.Exporter { return failing{} },
			exporter.Status{Name: "inprocess_test.failing", Lost: map[string]uint64{"failed": 60}},
			"inprocess_test.failing: 1 failed: refused",
			"inprocess_test.failing: refused", true,
		},
		{
			"stuck", func(_ *testing.T, release stuck) exporter.Exporter { return release },
			exporter.Status{Name: "inprocess_test.stuck", Lost: map[string]uint64{"full": 11}, Waiting: 49},
			"inprocess_test.stuck: 49 profile(s) not delivered yet: context deadline exceeded\ninprocess_test.stuck: 1 full",
			"inprocess_test.stuck: the queue is full, the oldest profiles are dropped", true,
		},
		{
			"slow", func(*testing.T, stuck) exporter.Exporter { return slow{} },
			exporter.Status{Name: "inprocess_test.slow", Exported: 19, Waiting: 41},
			"inprocess_test.slow: 41 profile(s) not delivered yet: context deadline exceeded",
			"", false,
		},
		{
			"half-refusing", func(t *testing.T, _ stuck) exporter.Exporter {
				q, err := exporter.NewQueue("half", new(halfRefusing), exporter.QueueConfig{})
				if err != nil {
					t.Fatal(err)
				}
				return q
			},
			exporter.Status{Name: "half", Exported: 30, Lost: map[string]uint64{"rejected": 30}},
			"half: 1 rejected: 400 no room",
			"half: heap profile dropped: 400 no room", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reported := listen(t)
				release := make(stuck)
				metrics := &meterProvider{sums: map[string]uint64{}}
				before := otel.GetMeterProvider()
				otel.SetMeterProvider(metrics)
				defer otel.SetMeterProvider(before)
				p, err := inprocess.Start(nil, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(time.Hour)),
					inprocess.WithExporter(tt.make(t, release)))
				if err != nil {
					t.Fatal(err)
				}
				var flushed error
				for range flushes {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					flushed = p.Flush(ctx)
					<-ctx.Done()
					cancel()
					synctest.Wait()
				}
				if fmt.Sprint(flushed) != tt.flush {
					t.Errorf("Flush: %v, want %s", flushed, tt.flush)
				}
				s := p.Status()
				if s.Windows != flushes || len(s.Lanes) != 2 {
					t.Fatalf("Status %+v, want %d windows and two lanes", s, flushes)
				}
				for i, want := range []exporter.Status{{Name: "store", Exported: flushes}, tt.want} {
					got := s.Lanes[i]
					if diff := cmp.Diff(numbers(want), numbers(got)); diff != "" || got.Name != want.Name {
						t.Errorf("%s (-want +got):\n%s", got, diff)
					}
					if sum := got.Exported + lost(got) + uint64(got.Waiting); sum != s.Windows || got.Taken != sum {
						t.Errorf("%s: the sum is %d, want %d windows", got, sum, s.Windows)
					}
					if diff := cmp.Diff(numbers(got), page(t, p.Handler(), got.Name)); diff != "" {
						t.Errorf("page (-Status +page):\n%s", diff)
					}
					counted := numbers(got)
					delete(counted, "waiting") // which is observed, and not by this double
					if diff := cmp.Diff(counted, metrics.of(got.Name)); diff != "" {
						t.Errorf("metrics (-Status +metrics):\n%s", diff)
					}
				}
				close(release)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_ = p.Shutdown(ctx) // other tests have its error
				for _, got := range p.Status().Lanes {
					if sum := got.Exported + lost(got); sum != flushes+1 || got.Waiting != 0 || got.Bytes != 0 {
						t.Errorf("after Shutdown: %+v, want all of %d windows", got, flushes+1)
					}
				}
				var want uint64
				if tt.report != "" {
					want = 1
				}
				if lane := p.Status().Lanes[1]; tt.losses {
					want = lane.Lost["failed"] + lane.Lost["rejected"] + lane.Lost["full"]
				}
				if got := timesReported(reported(), tt.report); got != want {
					t.Errorf("reported %d times, want %d: %q", got, want, reported())
				}
			})
		})
	}
}

// The server refuses everything that the shipped exporter sends.
func TestPyroscopeRejects(t *testing.T) {
	reported := listen(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no room", http.StatusBadRequest)
	}))
	defer server.Close()
	push, err := pyroscope.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := inprocess.Start(nil, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(time.Hour)), inprocess.WithExporter(push))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := p.Flush(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "pyroscope: 1 rejected: ") || !strings.Contains(err.Error(), "no room") {
			t.Errorf("Flush: %v, want what the server says", err)
		}
	}
	if err := p.Shutdown(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "profiler: pyroscope: 1 rejected: ") {
		t.Errorf("Shutdown: %v, want what the server says", err)
	}
	lane := p.Status().Lanes[1]
	if want := map[string]uint64{"rejected": 4}; !cmp.Equal(want, numbers(lane)) || lane.LastError == nil || lane.LastErrorTime.IsZero() || !lane.LastSuccess.IsZero() {
		t.Errorf("%s, last error %v at %v; want %v", lane, lane.LastError, lane.LastErrorTime, want)
	}
	if diff := cmp.Diff(lane, push.Status(), cmp.Comparer(errors.Is)); diff != "" {
		t.Errorf("Stats (-Status +Stats):\n%s", diff)
	}
	if got := timesReported(reported(), "pyroscope: "); got != 4 {
		t.Errorf("reported %d times, want 4: %q", got, reported())
	}
}

// timesReported returns how often an error with that prefix was reported. It includes errors
// that were only counted.
func timesReported(texts []string, prefix string) (n uint64) {
	for _, text := range texts {
		if prefix == "" || !strings.HasPrefix(text, prefix) {
			continue
		}
		n += reporttest.Times(text)
	}
	return n
}

// lost returns the number of lost profiles.
func lost(s exporter.Status) (n uint64) {
	for _, lost := range s.Lost {
		n += lost
	}
	return n
}

// numbers returns what is not 0 of an account.
func numbers(s exporter.Status) map[string]uint64 {
	n := map[string]uint64{"exported": s.Exported, "waiting": uint64(s.Waiting)}
	maps.Copy(n, s.Lost)
	for name, value := range n {
		if value == 0 {
			delete(n, name)
		}
	}
	return n
}

// page returns the numbers of a lane on the page.
func page(t *testing.T, h http.Handler, lane string) map[string]uint64 {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/log?format=json", http.NoBody))
	var answer struct {
		Status struct {
			Counters []struct {
				Name  string
				Value uint64
				Unit  string
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	n := map[string]uint64{}
	for _, c := range answer.Status.Counters {
		if name, ok := strings.CutPrefix(c.Name, lane+": "); ok && c.Value > 0 && c.Unit == "" {
			n[name] = c.Value
		}
	}
	return n
}

// listen collects what otel.Handle gets during a test.
func listen(t *testing.T) func() []string {
	t.Helper()
	var (
		mu   sync.Mutex
		errs []string
	)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err.Error())
	}))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })
	return func() []string {
		reporttest.Settle()
		mu.Lock()
		defer mu.Unlock()
		return errs
	}
}

// meterProvider adds up what counters of lanes are given, by name, type and reason.
type meterProvider struct {
	noop.MeterProvider

	mu   sync.Mutex
	sums map[string]uint64
}

func (p *meterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{provider: p} }

// of returns the sums of a lane.
func (p *meterProvider) of(lane string) map[string]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]uint64{}
	for key, value := range p.sums {
		if name, ok := strings.CutPrefix(key, lane+" "); ok {
			n[name] = value
		}
	}
	return n
}

type meter struct {
	noop.Meter
	provider *meterProvider
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{provider: m.provider, name: name}, nil
}

type counter struct {
	noop.Int64Counter
	provider *meterProvider
	name     string
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	attributes := metric.NewAddConfig(opts).Attributes()
	lane, ok := attributes.Value("otel.component.type")
	if !ok {
		return // a counter of the profiler
	}
	name := strings.TrimPrefix(c.name, "spanprof.exporter.profile.")
	if reason, ok := attributes.Value("reason"); ok {
		name = reason.AsString()
	}
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.provider.sums[lane.AsString()+" "+name] += uint64(n)
}

// Nil variables add no lane, and the page names the destination that fails, with the
// reason.
func TestDestinationThatFailsIsNamedOnThePage(t *testing.T) {
	listen(t)
	var none *exporter.Queue
	p, err := inprocess.Start(nil, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(time.Hour)),
		inprocess.WithExporter(none), inprocess.WithExporter((*exporter.Multi)(nil)), inprocess.WithExporter(failing{}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Status().Lanes); n != 2 {
		t.Errorf("%d lanes, want those of the store and of one exporter", n)
	}
	if err := p.Flush(t.Context()); err == nil {
		t.Error("Flush returns nil")
	}
	r := httptest.NewRequest(http.MethodGet, "/log?format=json", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	if want := "Profiles do not reach inprocess_test.failing: refused"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the page says %s, want %q", w.Body, want)
	}
	_ = p.Shutdown(t.Context()) // other tests have its error
}

// Numbers of other parts of the program are on the page.
func TestAddCounters(t *testing.T) {
	p, err := inprocess.Start(nil, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Shutdown(context.WithoutCancel(t.Context())) }()
	p.AddCounters(nil)
	p.AddCounters(func(yield func(string, uint64) bool) { yield("agent: messages", 42) })
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/log?format=text", http.NoBody))
	if !strings.Contains(w.Body.String(), "agent: messages: 42\n") {
		t.Errorf("no messages of the agent in\n%s", w.Body)
	}
}

// stuck and slow are exporters that must not delay the store beside them.
type (
	stuck chan struct{} // Export returns when it is closed
	slow  struct{}
)

func (s stuck) Export(context.Context, *exporter.Profile) error { <-s; return nil }
func (stuck) ForceFlush(context.Context) error                  { return nil }
func (stuck) Shutdown(context.Context) error                    { return nil }

func (slow) Export(context.Context, *exporter.Profile) error {
	<-time.After(3100 * time.Millisecond)
	return nil
}
func (slow) ForceFlush(context.Context) error { return nil }
func (slow) Shutdown(context.Context) error   { return nil }
