// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

const (
	// directoryVariable names the directory of a child that serves until it is killed.
	directoryVariable = "SPANPROF_TEST_DIRECTORY"
	directoryBytes    = 16 << 20
)

func init() { children[directoryVariable] = serveUntilKilled }

// serveUntilKilled does the work of requests. After each window that its store has written to
// files, it prints what must be there after its death. That is the start of the window and its
// slowest span with samples.
func serveUntilKilled(dir string) {
	ctx := context.Background()
	tp, res := providerOf()
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res)), inprocess.WithStoreOptions(store.WithDirectory(dir, directoryBytes)),
		inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(200*time.Millisecond)))
	if err != nil {
		panic(err)
	}
	var load sync.WaitGroup
	for range 2 {
		load.Go(func() {
			for {
				_, span := tp.Tracer("").Start(ctx, "GET /quick")
				work(time.Duration(rand.IntN(int(2 * time.Millisecond))))
				span.End()
			}
		})
	}
	for {
		_, span := tp.Tracer("").Start(ctx, "GET /slow")
		work(time.Duration(20+rand.IntN(60)) * time.Millisecond)
		span.End()
		if err := p.Flush(ctx); err != nil {
			panic(err)
		}
		tell(ctx, p.Store())
	}
}

func tell(ctx context.Context, s *store.Store) {
	v, err := s.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		panic(err)
	}
	defer v.Close()
	windows, err := v.Windows()
	if err != nil {
		panic(err)
	}
	spans, err := v.Spans(store.SpanQuery{Name: "GET /slow", Order: store.Slowest})
	if err != nil {
		panic(err)
	}
	for _, span := range spans.Spans {
		if !span.Earlier && span.CPUSamples > 0 && span.Complete {
			last := windows[len(windows)-1]
			// A window may have come since the last flush.
			if err := s.ForceFlush(ctx); err != nil {
				panic(err)
			}
			fmt.Println("kept", last.Start.UnixNano(), last.Samples, span.ProfileID, int64(span.Duration), span.CPUSamples)
			return
		}
	}
}

// work uses about d of CPU time, however long that takes where other programs use the CPU
// too: what samples it gets does not depend on them.
func work(d time.Duration) {
	data := make([]byte, hashed)
	for range max(1, int(d/hashTime())) {
		data[0] = sha256.Sum256(data)[0]
	}
}

// hashed is how many bytes work hashes at a time.
const hashed = 64 << 10

// hashTime is the CPU time that work takes for that. Of some times the shortest is the one in
// which nothing else ran.
var hashTime = sync.OnceValue(func() time.Duration {
	data := make([]byte, hashed)
	least := time.Second
	for range 50 {
		begin := time.Now()
		data[0] = sha256.Sum256(data)[0]
		least = min(least, time.Since(begin))
	}
	return max(time.Microsecond, least)
})
