// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/profiler"
)

// job is what one process does.
type job struct {
	dir      string  // where its profile goes
	requests int     // it ends after so many
	slow     string  // the step that does more
	by       float64 // 0.2 is a fifth more
}

// do serves the requests with two workers, with spans of their names, and writes one
// window of CPU. The requests are other ones in every process.
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
			s := newShop(rand.Uint64())
			deck := newDeck()
			for i := range j.requests / 2 {
				if i%len(deck) == 0 {
					s.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
				}
				k := deck[i%len(deck)]
				size := 4 * min(math.Exp(s.random.NormFloat64()*k.spread), 12)
				_, span := tracer.Start(ctx, k.name)
				for _, step := range k.steps {
					size := size
					if step.name == j.slow {
						size *= 1 + j.by
					}
					for ; size > 0; size-- {
						step.do(s, max(1, int(float64(step.n)*min(size, 1))))
					}
				}
				span.End()
			}
		})
	}
	workers.Wait()
	return nil
}

// newDeck returns the kinds of a hundred requests.
func newDeck() []kind {
	var deck []kind
	for _, k := range kinds {
		deck = append(deck, slices.Repeat([]kind{k}, k.share)...)
	}
	return deck
}
