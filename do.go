// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"net/http"
	"runtime/pprof"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// Do calls f with the labels of ctx and its span on the calling goroutine. Then it
// restores what it found there. Use it on goroutines that existed before the span,
// such as workers of a pool:
//
//	for job := range jobs {
//		spanprof.Do(job.ctx, job.run)
//	}
//
// The work counts for the span until f returns, even if the span has ended. Its allocations
// and its locks count too, as in [Handler].
// The goroutine's user labels stay beside the labels of ctx, and its span labels if ctx has
// none. A context without labels, such as an unsampled span's, changes nothing. A span
// that f leaves open keeps its labels.
//
// pprof.Do differs: it leaves the labels of ctx on the goroutine, so a worker
// keeps the labels of its last job. If spanprof uses only runtime/pprof's public
// API, Do leaves the goroutine without labels.
//
// A nil ctx is context.Background. A nil f is reported through otel.Handle.
func Do(ctx context.Context, f func(context.Context)) {
	if f == nil {
		otel.Handle(errors.New("spanprof: Do: the function is nil"))
		return
	}
	if ctx == nil {
		ctx = context.Background()
	}
	name, _ := pprof.Label(ctx, LabelSpanName)
	spanlabels.Do(ctx, func(ctx context.Context) { marker.Do(ctx, name, f) })
}

// Handler returns a handler that calls h. The allocations of h and its waits for locks count
// for the request's span. The waits of others for its locks count too. Heap, block and mutex
// profiles have the label span_name. The runtime
// puts no labels on these profiles. So h runs under two functions that stand for the name, and
// the profiler makes the label of them. Do is the same for other work.
//
// Use it inside the handler that starts the span, where the span has its name:
//
//	mux.Handle("GET /report", otelhttp.NewHandler(spanprof.Handler(report), "GET /report"))
//
// These have no label: goroutines that h starts, stacks of more than about 120 Go frames, and
// requests without a labelled span. Names beyond the first 255 of the process are "other". A
// call takes about 25 ns and allocates nothing.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := pprof.Label(r.Context(), LabelSpanName)
		marker.Do(r.Context(), name, func(context.Context) { h.ServeHTTP(w, r) })
	})
}

// Go calls f by [Do] on a new goroutine. With the go statement alone it would
// inherit the labels of the goroutine that started it, perhaps of another span.
//
// A nil ctx is context.Background. A nil f is reported through otel.Handle.
func Go(ctx context.Context, f func(context.Context)) {
	if f == nil {
		otel.Handle(errors.New("spanprof: Go: the function is nil"))
		return
	}
	go func() {
		goruntime.ClearLabels()
		Do(ctx, f)
	}()
}
