// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

func sameSpan(c *Case) {
	s := c.newSDK()
	ctx := context.Background()
	for range 2 { // a root and its child
		var span trace.Span
		ctx, span = s.tracer.Start(ctx, "span")
		if trace.SpanFromContext(ctx) != span {
			c.errorf("SpanFromContext returns another span")
		}
		if span.TracerProvider() != s.wrapped {
			c.errorf("the provider is a %T", span.TracerProvider())
		}
		defer span.End()
	}
}

func endTwice(c *Case) {
	s := c.newSDK()
	_, first := s.tracer.Start(context.Background(), "first")
	first.End()
	_, second := s.tracer.Start(context.Background(), "second")
	first.End()
	c.carries("in second", second, "second")
	second.End()
	second.End()
	c.bare("after all")
	if len(s.recorder.Ended()) != 2 {
		c.errorf("%d spans ended, want 2", len(s.recorder.Ended()))
	}
}

func endElsewhere(c *Case) {
	s := c.newSDK()
	_, root := s.tracer.Start(context.Background(), "root")
	elsewhere(func() {
		_, other := s.tracer.Start(context.Background(), "other")
		root.End()
		if c.CannotRead {
			c.bare("other goroutine after End")
		} else {
			c.carries("other goroutine after End", other, "other")
		}
		other.End()
		c.bare("other goroutine after its own End")
	})
}

func parentEndsFirst(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	ctx, parent := s.tracer.Start(ctx, "parent")
	_, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	parent.End()
	if c.CannotRead {
		c.carries("after parent", root, "root")
	} else {
		c.carries("in child after parent ended", owner, name)
	}
	child.End()
	c.carries("after child", root, "root")
	root.End()
	c.bare("after all")
}

// rootEndsFirst ends a local root while a child is open on its goroutine. The child ends
// during the next request, as after a handler that forgot it.
func rootEndsFirst(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	root.End()
	c.bare("after root")
	_, next := s.tracer.Start(context.Background(), "next")
	c.carries("in next", next, "next")
	child.End()
	if c.CannotRead {
		c.bare("in next after child ended")
	} else {
		c.carries("in next after child ended", next, "next")
	}
	next.End()
	c.bare("after all")
}

// fireAndForget ends a local root, itself a new root within other work. Its
// descendants continue on a goroutine that it started.
func fireAndForget(c *Case) {
	s := c.newSDK()
	ctx, consumer := s.tracer.Start(context.Background(), "consumer")
	ctx, message := s.tracer.Start(ctx, "message", trace.WithNewRoot())
	started, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ctx, async := s.tracer.Start(ctx, "async")
		close(started)
		<-ended
		owner, name := c.owner(message, async, "message", "async")
		c.carries("in async", owner, name)
		_, db := s.tracer.Start(ctx, "db")
		db.End()
		c.carries("in async after its child", owner, name)
		async.End()
	}()
	<-started
	message.End()
	c.carries("after message", consumer, "consumer")
	close(ended)
	<-done
	consumer.End()
	c.bare("after all")
}
