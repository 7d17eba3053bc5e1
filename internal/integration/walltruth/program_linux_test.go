// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package walltruth

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// programVariable has the plan of the program in its environment.
const programVariable = "SPANPROF_TEST_WALLTRUTH"

func TestMain(m *testing.M) {
	plan := os.Getenv(programVariable)
	if plan == "" {
		os.Exit(m.Run())
	}
	if err := program(plan); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// plan is what the program does.
type plan struct {
	Goroutines int           // that wait, for no span
	Span       time.Duration // the length of a span, about
	Work       time.Duration
	Procs      bool // change GOMAXPROCS all the time
	Budget     float64
	Window     time.Duration
}

// span is what the program's own clock and its wall profile say of a span.
type span struct {
	Kind         string
	Took         time.Duration
	Total, Error time.Duration // Error is the standard error of Total
	Samples      int64
}

// result is what the program writes.
type result struct {
	Spans  []span
	Status profiler.WallStatus
}

// goroutines is how many work in spans.
const goroutines = 8

// program works as planned from a line of its input on.
func program(text string) error {
	var todo plan
	if err := json.Unmarshal([]byte(text), &todo); err != nil {
		return err
	}
	s, err := store.New()
	if err != nil {
		return err
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	p, err := profiler.New(s, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(todo.Budget), profiler.WithWindow(todo.Window))
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	for range todo.Goroutines {
		go func() { <-stop }()
	}
	if err := p.Start(); err != nil {
		return err
	}
	for p.Status().Wall.Rounds < 2 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if todo.Procs {
		go changeProcs(stop)
	}
	took := work(todo, tp)
	close(stop)
	ctx := context.Background()
	if err := p.Flush(ctx); err != nil {
		return err
	}
	r := result{Status: p.Status().Wall}
	h := viewer.Handler(s)
	for id, one := range took {
		if err := one.ask(h, id); err != nil {
			return err
		}
		r.Spans = append(r.Spans, *one)
	}
	if err := p.Shutdown(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// changeProcs changes how many goroutines run at a time.
func changeProcs(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
			runtime.GOMAXPROCS(1 + n%4)
		}
	}
}

// work returns its spans by id.
func work(todo plan, tp *spanprof.TracerProvider) map[string]*span {
	var mu, contended sync.Mutex
	took := make(map[string]*span)
	kinds := map[string]func(){
		"sleep":   func() { time.Sleep(todo.Span) },
		"channel": func() { <-time.After(todo.Span) },
		"compute": func() {
			for begin := time.Now(); time.Since(begin) < todo.Span; {
				runtime.Gosched()
			}
		},
		"mutex": func() {
			contended.Lock()
			time.Sleep(todo.Span / 2)
			contended.Unlock()
		},
	}
	tracer := tp.Tracer("walltruth")
	var wait sync.WaitGroup
	end := time.Now().Add(todo.Work)
	for range goroutines / len(kinds) {
		for kind, f := range kinds {
			wait.Go(func() {
				for time.Now().Before(end) {
					begin := time.Now()
					_, s := tracer.Start(context.Background(), kind)
					f()
					s.End()
					one := &span{Kind: kind, Took: time.Since(begin)}
					mu.Lock()
					took[s.SpanContext().SpanID().String()] = one
					mu.Unlock()
				}
			})
		}
	}
	wait.Wait()
	return took
}

// ask reads what the wall profile says of a span.
func (s *span) ask(h http.Handler, id string) error {
	query := url.Values{"query": {`.wall{profile_id="` + id + `"}`}, "format": {"json"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost/?"+query.Encode(), nil))
	var a struct{ Total, ErrorNs, Samples int64 }
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		return fmt.Errorf("%d %s: %w", w.Code, w.Body, err)
	}
	s.Total, s.Error, s.Samples = time.Duration(a.Total), time.Duration(a.ErrorNs), a.Samples
	return nil
}
