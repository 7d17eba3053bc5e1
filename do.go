// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"

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
// The work counts for the span until f returns, even if the span has ended.
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
	spanlabels.Do(ctx, f)
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
	if ctx == nil {
		ctx = context.Background()
	}
	spanlabels.Go(ctx, f)
}
