// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Tracecost measures the recorder of module exectrace.
//
//	go run ./internal/integration/tracecost -run cost
//	go run ./internal/integration/tracecost -run budget -rate 50 -idle 15000
//
// cost compares the CPU time of requests with a recorder and without, in random order in one
// process. It has 100 MB of ballast: otherwise the recorder's own heap makes collections rarer,
// and it looks free. budget prints the share of slow spans that get exact times.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

func main() {
	what := flag.String("run", "cost", "cost or budget")
	length := flag.Duration("duration", 2*time.Minute, "budget: length of the run")
	rate := flag.Int("rate", 200, "budget: requests a second")
	idle := flag.Int("idle", 0, "budget: number of idle goroutines")
	pairs := flag.Int("pairs", 5, "cost: number of comparisons")
	flag.Parse()
	s, err := newService()
	if err == nil && *what == "budget" {
		err = s.budget(*length, *rate, *idle)
	} else if err == nil {
		err = s.cost(*pairs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracecost:", err)
		os.Exit(1)
	}
}

// Requests of perRequest CPU time wait for slowRequest if they are slow.
const (
	perRequest  = 2 * time.Millisecond
	slowRequest = 60 * time.Millisecond
	threshold   = 50 * time.Millisecond
	// settled is the time until the last slow spans have been read.
	settled = 15 * time.Second
	// segment is the time of requests with a recorder, or without.
	segment = 12 * time.Second
)

type service struct {
	tp      *spanprof.TracerProvider
	store   *store.Store
	tracer  trace.Tracer
	blocks  int // of sha256 in perRequest
	mu      sync.Mutex
	garbage []byte
}

func newService() (*service, error) {
	st, err := store.New(store.WithMaxBytes(128 << 20))
	if err != nil {
		return nil, err
	}
	s := &service{store: st}
	s.tp = spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(st.SpanProcessor())))
	s.tracer = s.tp.Tracer("tracecost")
	const blocks = 2000
	least := time.Hour
	for range 20 {
		from := time.Now()
		burn(blocks)
		least = min(least, time.Since(from))
	}
	s.blocks = max(1, int(blocks*perRequest/least))
	return s, nil
}

func burn(blocks int) (b [1024]byte) {
	for range blocks {
		sum := sha256.Sum256(b[:])
		b[1] = sum[0]
	}
	return b
}

// request has two hops over channels, a lock, memory and a child span.
func (s *service) request(blocks int, slow bool) {
	ctx, root := s.tracer.Start(context.Background(), "GET /")
	defer root.End()
	there, back := make(chan int), make(chan int)
	go func() { back <- <-there }()
	there <- 1
	<-back
	s.mu.Lock()
	s.garbage = make([]byte, 20_000)
	s.mu.Unlock()
	_, child := s.tracer.Start(ctx, "work")
	burn(blocks)
	if slow {
		time.Sleep(slowRequest)
	}
	child.End()
}

// cost prints the CPU time of a request with and without a recorder.
func (s *service) cost(pairs int) error {
	ballast := make([]byte, 100<<20)
	defer runtime.KeepAlive(ballast)
	s.serve(segment / 4)
	var ratios []float64
	for range pairs {
		var each [2]time.Duration // without, with
		first := rand.IntN(2)
		for _, on := range []int{first, 1 - first} {
			runtime.GC()
			if on == 0 {
				each[0] = s.serve(segment)
				continue
			}
			r, err := exectrace.Start(s.tp, s.store, exectrace.WithThreshold(threshold))
			if err != nil {
				return err
			}
			each[1] = s.serve(segment)
			fmt.Println(counts(r))
			if err := r.Shutdown(context.Background()); err != nil {
				return err
			}
		}
		fmt.Printf("CPU of a request: %v without, %v with a recorder\n", each[0], each[1])
		ratios = append(ratios, float64(each[1])/float64(each[0]))
	}
	mean, half := interval(ratios)
	fmt.Printf("with / without, %d pairs: x%.4f (95 %%: %.4f to %.4f)\n", pairs, mean, mean-half, mean+half)
	return nil
}

// serve runs requests one after the other, and a slow one each 200 ms beside them. It returns
// the CPU time of a request.
func (s *service) serve(length time.Duration) time.Duration {
	from, cpu := time.Now(), cpuTime()
	var beside sync.WaitGroup
	beside.Go(func() {
		for time.Since(from) < length {
			s.request(0, true)
			time.Sleep(200*time.Millisecond - slowRequest)
		}
	})
	n := 0
	for ; time.Since(from) < length; n++ {
		s.request(s.blocks, false)
	}
	beside.Wait()
	return (cpuTime() - cpu) / time.Duration(n)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func counts(r *exectrace.Recorder) string {
	var texts []string
	for name, n := range r.Counters() {
		texts = append(texts, fmt.Sprintf("%d %s", n, strings.TrimPrefix(name, "exact times: ")))
	}
	return strings.Join(texts, ", ")
}

// interval returns the mean and half of its 95 % interval.
func interval(list []float64) (mean, half float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	var squares float64
	for _, x := range list {
		squares += (x - mean) * (x - mean)
	}
	if n := float64(len(list)); n > 1 {
		half = 1.96 * math.Sqrt(squares/(n-1)/n)
	}
	return mean, half
}

// budget runs requests at a rate, and prints how many slow spans get exact times. One of 100
// requests is slow.
func (s *service) budget(length time.Duration, rate, idle int) error {
	stop := make(chan struct{})
	defer close(stop)
	for range idle {
		go func() { <-stop }()
	}
	r, err := exectrace.Start(s.tp, s.store, exectrace.WithThreshold(threshold))
	if err != nil {
		return err
	}
	var requests sync.WaitGroup
	on, n := 0, 0
	for from, tick := time.Now(), time.NewTicker(time.Second/time.Duration(rate)); time.Since(from) < length; n++ {
		<-tick.C
		requests.Go(func() { s.request(s.blocks/10, n%100 == 99) })
		if rtrace.IsEnabled() {
			on++
		}
	}
	requests.Wait()
	time.Sleep(settled)
	fmt.Printf("%d requests a second, %d idle goroutines: recording %.0f %% of the time, %d slow requests; %s\n",
		rate, idle, 100*float64(on)/float64(n), n/100, counts(r))
	return r.Shutdown(context.Background())
}
