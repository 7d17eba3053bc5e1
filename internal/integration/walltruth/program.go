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
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// programVariable has the plan of the program in its environment.
const programVariable = "SPANPROF_TEST_WALLTRUTH"

// Plan is what the program does.
type Plan struct {
	Name       string
	Goroutines int           // that wait, for no span
	Span       time.Duration // the length of a span, about
	Work       time.Duration
	Procs      bool // change GOMAXPROCS all the time
	Stop       bool // the process again and again
	Quota      bool // half of the time of a core
	Budget     float64
	Window     time.Duration
}

// Plans returns the cases. Each works for some time, and with more goroutines for at least 15 s.
// With the default budget it takes three minutes: a look comes every ten seconds or less.
func Plans(work time.Duration) []Plan {
	usual := Plan{Span: 150 * time.Millisecond, Work: work, Budget: 0.1, Window: time.Second}
	plans := make([]Plan, 6)
	for i := range plans {
		plans[i] = usual
	}
	plans[0].Name = "nothing"
	plans[1].Name, plans[1].Procs = "GOMAXPROCS changes", true
	plans[2].Name, plans[2].Stop = "SIGSTOP", true
	plans[3].Name, plans[3].Quota = "CPU quota", true
	many := &plans[4]
	many.Name, many.Goroutines, many.Budget = "100,000 goroutines", 100_000, 0.5
	many.Span, many.Work, many.Window = 5*time.Second, max(work, 15*time.Second), time.Hour
	rare := &plans[5]
	rare.Name, rare.Goroutines, rare.Budget = "100,000 goroutines, 1 %", 100_000, 0.01
	rare.Span, rare.Work, rare.Window = 30*time.Second, max(work, 3*time.Minute), 10*time.Second
	return plans
}

// Main does what the environment plans, and reports false if that is nothing.
func Main() (done bool, err error) {
	text := os.Getenv(programVariable)
	if text == "" {
		return false, nil
	}
	return true, program(text)
}

// Span is a span by the program's own clock and by its wall profile.
type Span struct {
	Kind         string
	Begin        time.Duration // since the work began
	Took         time.Duration
	Total, Error time.Duration // Error is the standard error of Total
	Unwatched    time.Duration // Total may lack so much
	Samples      int64
}

// Result is what the program writes.
type Result struct {
	Spans []Span
	// Longest is the longest time between two looks, without that in which the process
	// was stopped. A shorter span may have been seen by none.
	Longest time.Duration
	Gaps    []Gap // in the order of time
	// Names are sums by name, from the wall profiles of the kinds' names.
	// Unwatched is the part of Took without looks.
	Names  []Sum
	Status profiler.WallStatus
}

// Gap is a time in which a part had no looks, since the work began.
type Gap struct {
	From, Until, Unwatched time.Duration
}

// goroutines is how many work in spans.
const goroutines = 8

// program works as planned from a line of its input on.
func program(text string) error {
	var todo Plan
	if err := json.Unmarshal([]byte(text), &todo); err != nil {
		return err
	}
	s, err := store.New()
	if err != nil {
		return err
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	kept := &keeper{Store: s}
	p, err := profiler.New(kept, profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(todo.Budget), profiler.WithWindow(todo.Window))
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
	// The first looks learn what they cost. There may be too many goroutines for any.
	for begin := time.Now(); p.Status().Wall.Rounds < 2 && time.Since(begin) < 20*time.Second; {
		time.Sleep(time.Millisecond)
	}
	began, took, err := asked(todo, tp, stop)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := p.Flush(ctx); err != nil {
		return err
	}
	r := Result{Status: p.Status().Wall, Longest: kept.longest}
	for _, g := range kept.gaps {
		r.Gaps = append(r.Gaps, Gap{g.From.Sub(began), g.Until.Sub(began), g.Unwatched})
	}
	h := viewer.Handler(s)
	for id, one := range took {
		if err := one.ask(h, id); err != nil {
			return err
		}
		one.Unwatched = r.unwatched(one.Begin, one.Begin+one.Took)
		r.Spans = append(r.Spans, *one)
	}
	for _, sum := range r.Sums()[1:] {
		if err := sum.ask(h); err != nil {
			return err
		}
		sum.Unwatched = time.Duration(float64(r.unwatched(0, todo.Work)) / float64(todo.Work) * float64(sum.Took))
		r.Names = append(r.Names, sum)
	}
	if err := p.Shutdown(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// keeper is a store that keeps the longest time between two looks, and the gaps between looks.
// Read that after Flush.
type keeper struct {
	*store.Store
	longest time.Duration
	gaps    []looks.Gap
}

// Export hands a profile to the store.
func (k *keeper) Export(ctx context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	if l := looks.Parse(parsed.Comments); l != nil {
		for _, i := range l.Long {
			k.longest = max(k.longest, i.Watched+i.Vague)
		}
		k.gaps = append(k.gaps, l.Gaps...)
	}
	return k.Store.Export(ctx, p)
}

// asked works from a line of the input on. It returns when that was.
func asked(todo Plan, tp *spanprof.TracerProvider, stop chan struct{}) (began time.Time, took map[string]*Span, err error) {
	defer close(stop)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return began, nil, err
	}
	if todo.Procs {
		go changeProcs(stop)
	}
	began = time.Now()
	return began, work(todo, tp, began), nil
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
func work(todo Plan, tp *spanprof.TracerProvider, start time.Time) map[string]*Span {
	var mu, contended sync.Mutex
	took := make(map[string]*Span)
	kinds := map[string]func(){
		"sleep":   func() { workSleep(todo.Span) },
		"channel": func() { workChannel(todo.Span) },
		"compute": func() { workCompute(todo.Span) },
		"mutex":   func() { workMutex(&contended, todo.Span/2) },
	}
	tracer := tp.Tracer("walltruth")
	var wait sync.WaitGroup
	end := start.Add(todo.Work)
	for range goroutines / len(kinds) {
		for kind, f := range kinds {
			wait.Go(func() {
				for time.Now().Before(end) {
					begin := time.Now()
					_, s := tracer.Start(context.Background(), kind)
					f()
					s.End()
					one := &Span{Kind: kind, Begin: begin.Sub(start), Took: time.Since(begin)}
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

//go:noinline
func workSleep(d time.Duration) { time.Sleep(d) }

//go:noinline
func workChannel(d time.Duration) { <-time.After(d) }

//go:noinline
func workCompute(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
		runtime.Gosched()
	}
}

//go:noinline
func workMutex(mu *sync.Mutex, d time.Duration) {
	mu.Lock()
	time.Sleep(d)
	mu.Unlock()
}

// unwatched returns the time without looks between two times.
func (r *Result) unwatched(from, until time.Duration) (sum time.Duration) {
	for _, g := range r.Gaps {
		sum += max(0, min(g.Unwatched, min(g.Until, until)-max(g.From, from)))
	}
	return sum
}

// ask reads the wall profile of a span.
func (s *Span) ask(h http.Handler, id string) error {
	a, err := askWall(h, `profile_id="`+id+`"`)
	s.Total, s.Error, s.Samples = time.Duration(a.Total), time.Duration(a.ErrorNs), a.Samples
	return err
}

// ask reads the wall profile of the spans of a name.
func (s *Sum) ask(h http.Handler) error {
	a, err := askWall(h, `span_name="`+s.Kind+`"`)
	s.Total, s.Error = time.Duration(a.Total), time.Duration(a.ErrorNs)
	return err
}

// wall is a part of a profile as the viewer answers it.
type wall struct {
	Total, ErrorNs, Samples int64
}

func askWall(h http.Handler, condition string) (a wall, err error) {
	query := url.Values{"query": {".wall{" + condition + "}"}, "format": {"json"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost/?"+query.Encode(), nil))
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%d %s: %w", w.Code, w.Body, err)
	}
	return a, nil
}
