// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/profiler"
)

// job is the work of one process.
type job struct {
	dir      string // of its profile
	requests int
	by       float64 // 0.2: f00 does a fifth more
}

// do serves requests with two workers and spans, and writes one window of CPU. Each process
// draws other requests.
func (j job) do(ctx context.Context) (err error) {
	ballast := make([]byte, 64<<20) // a service's heap
	defer runtime.KeepAlive(ballast)
	exp, err := file.New(j.dir, 0, 0)
	if err != nil {
		return err
	}
	p, err := profiler.New(exp, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Shutdown(ctx)) }()
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("diffbench")
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			w := newWorker()
			deck := w.random.Perm(100) // of a hundred requests, each kind has its share
			for i := range j.requests / 2 {
				if i%len(deck) == 0 {
					w.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
				}
				kind := 0 // the first kinds are the most frequent
				for left := deck[i%len(deck)]; left >= shares[kind]; kind++ {
					left -= shares[kind]
				}
				// A few requests are much larger than most: samples come in clusters.
				size := 120 * min(math.Exp(w.random.NormFloat64()*(0.3+0.1*float64(kind))), 12)
				_, span := tracer.Start(ctx, "kind "+strconv.Itoa(kind))
				for k, step := range steps[4*kind : 4*kind+4] {
					n := size
					if kind == 0 && k == 0 {
						n = 2 * size * (1 + j.by)
					}
					for range int(n) {
						step(w)
					}
				}
				span.End()
			}
		})
	}
	workers.Wait()
	return nil
}

// shares are the kinds of a hundred requests.
var shares = []int{40, 25, 15, 12, 8}

// worker is the state of one worker.
type worker struct {
	random *rand.Rand
	ints   []int
	text   []byte
	doc    []byte
	sink   uint64
}

func newWorker() *worker {
	w := &worker{random: rand.New(rand.NewPCG(rand.Uint64(), 1)), ints: make([]int, 256), text: make([]byte, 2048), doc: []byte(`{"id":4711,"lines":[1,2,3],"price":12.5}`)}
	for i := range w.ints {
		w.ints[i] = w.random.IntN(1 << 20)
	}
	for i := range w.text {
		w.text[i] = byte(w.random.IntN(64))
	}
	return w
}

// What several functions share is below each of them.

//go:noinline
func (w *worker) mix() {
	for i := range 4000 {
		w.sink = (w.sink ^ uint64(i)*0x9e3779b97f4a7c15) * 3
	}
}

//go:noinline
func (w *worker) digest() {
	sum := sha256.Sum256(w.text)
	w.sink += uint64(sum[0])
}

//go:noinline
func (w *worker) sort() { slices.Sort(slices.Clone(w.ints[:96])) }

//go:noinline
func (w *worker) parse() {
	var v map[string]any
	if json.Unmarshal(w.doc, &v) == nil {
		w.sink += uint64(len(v))
	}
}

// steps are four functions for each kind of request.
var steps = []func(*worker){
	f00, f01, f02, f03, f04, f05, f06, f07, f08, f09,
	f10, f11, f12, f13, f14, f15, f16, f17, f18, f19,
}

//go:noinline
func f00(w *worker) { w.mix() }

//go:noinline
func f01(w *worker) { w.sort() }

//go:noinline
func f02(w *worker) { w.digest() }

//go:noinline
func f03(w *worker) { w.parse() }

//go:noinline
func f04(w *worker) { w.mix() }

//go:noinline
func f05(w *worker) { w.sort() }

//go:noinline
func f06(w *worker) { w.digest() }

//go:noinline
func f07(w *worker) { w.parse() }

//go:noinline
func f08(w *worker) { w.mix() }

//go:noinline
func f09(w *worker) { w.sort() }

//go:noinline
func f10(w *worker) { w.digest() }

//go:noinline
func f11(w *worker) { w.parse() }

//go:noinline
func f12(w *worker) { w.mix() }

//go:noinline
func f13(w *worker) { w.sort() }

//go:noinline
func f14(w *worker) { w.digest() }

//go:noinline
func f15(w *worker) { w.parse() }

//go:noinline
func f16(w *worker) { w.mix() }

//go:noinline
func f17(w *worker) { w.sort() }

//go:noinline
func f18(w *worker) { w.digest() }

//go:noinline
func f19(w *worker) { w.parse() }
