// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Do calls f with the labels of ctx on the calling goroutine, those of its span
// among them, and leaves the goroutine as it found it. Use it where work for a
// span runs on a goroutine that was there before, such as a worker of a pool,
// without a span of its own there:
//
//	for job := range jobs {
//		spanprof.Do(job.ctx, job.run)
//	}
//
// Labels of the goroutine's own stay beside those of ctx. A context without
// labels, that of a span that is not sampled, changes nothing.
//
// Do differs from pprof.Do in what it leaves behind: pprof.Do puts the labels
// of ctx on the goroutine, so a worker goes on with those of its last job. Where
// spanprof uses runtime/pprof's public API alone, Do leaves the goroutine
// without labels.
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
	var l labeler = runtimeLabeler{}
	if s, ok := ctx.Value(stateKey{}).(*spanState); ok {
		l = s.by.labeler
	} else if goruntime.Unknown() != nil {
		l = publicLabeler{}
	}
	defer l.leave(l.enter(ctx))
	f(ctx)
}

// Go calls f on a new goroutine with the labels of ctx, those of its span among
// them, and none besides: a goroutine that the go statement starts has those of
// the goroutine that started it instead, be they of the same span or not.
//
// A nil ctx is context.Background. A nil f is reported through otel.Handle.
func Go(ctx context.Context, f func(context.Context)) {
	if f == nil {
		otel.Handle(errors.New("spanprof: Go: the function is nil"))
		return
	}
	go func() {
		putPublic(context.Background())
		Do(ctx, f)
	}()
}
