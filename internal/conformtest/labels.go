// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"
	"runtime/pprof"

	"go.opentelemetry.io/otel/trace"
)

func restoredInOrder(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	c.carries("in root", root, "root")
	_, child := c.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	c.carries("in child", owner, name)
	child.End()
	c.carries("after child", root, "root")
	root.End()
	c.bare("after root")
}

func descendants(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	c.same("root's context", contextLabels(ctx), root, "root")
	ctx, child := c.tracer.Start(context.WithValue(ctx, contextKey{}, 1), "child")
	owner, name := c.owner(root, child, "root", "child")
	c.same("child's context", contextLabels(ctx), owner, name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, grandchild := c.tracer.Start(ctx, "grandchild")
	owner, name = c.owner(root, grandchild, "root", "grandchild")
	c.carries("in grandchild", owner, name)
	c.same("grandchild's context", contextLabels(ctx), owner, name)
	if ctx.Value(contextKey{}) != 1 {
		c.errorf("a value of the context is lost")
	}
	grandchild.End()
	if p := c.ended("grandchild").Parent(); p.SpanID() != child.SpanContext().SpanID() {
		c.errorf("grandchild's parent is %v, want child", p.SpanID())
	}
	child.End()
	root.End()
	c.bare("after all")
}

type contextKey struct{}

func userLabelsInContext(c *Case) {
	user := Labels{"tenant": "a", "aaa": "1", "zzz": "2"}
	pprof.Do(context.Background(), pprof.Labels("tenant", "a", "zzz", "2", "aaa", "1"), func(ctx context.Context) {
		ctx, root := c.tracer.Start(ctx, "root")
		c.carries("in root", root, "root", user)
		c.same("root's context", contextLabels(ctx), root, "root", user)
		ctx, child := c.tracer.Start(ctx, "child")
		owner, name := c.owner(root, child, "root", "child")
		c.carries("in child", owner, name, user)
		c.same("child's context", contextLabels(ctx), owner, name, user)
		child.End()
		root.End()
		c.bare("after root", user)
	})
	c.bare("after all")
}

func doInside(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	user := Labels{"step": "1"}
	pprof.Do(ctx, pprof.Labels("step", "1"), func(ctx context.Context) {
		c.carries("in Do", root, "root", user)
		_, child := c.tracer.Start(ctx, "child")
		owner, name := c.owner(root, child, "root", "child")
		c.carries("in child within Do", owner, name, user)
		child.End()
		c.carries("in Do after child", root, "root", user)
	})
	c.carries("after Do", root, "root")

	ctx, child := c.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	pprof.Do(ctx, pprof.Labels("step", "1"), func(context.Context) {
		c.carries("in child's Do", owner, name, user)
	})
	c.carries("after child's Do", owner, name)
	child.End()
	c.carries("after child", root, "root")
	root.End()
	c.bare("after root")
}

func worker(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	user := Labels{"worker": "3"}
	elsewhere(func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
		_, job := c.tracer.Start(ctx, "job")
		owner, name := c.owner(root, job, "root", "job")
		if c.CannotRead {
			c.carries("worker during the job", owner, name)
			job.End()
			c.carries("worker after the job", root, "root")
			return
		}
		c.carries("worker during the job", owner, name, user)
		job.End()
		c.bare("worker after the job", user)
	})
	c.carries("root meanwhile", root, "root")
	root.End()
	c.bare("after root")
}

func sameSpan(c *Case) {
	ctx := context.Background()
	for range 2 { // a root and its child
		var span trace.Span
		ctx, span = c.tracer.Start(ctx, "span")
		if trace.SpanFromContext(ctx) != span {
			c.errorf("SpanFromContext returns another span")
		}
		if span.TracerProvider() != c.wrapped {
			c.errorf("the provider is a %T", span.TracerProvider())
		}
		defer span.End()
	}
}

func endTwice(c *Case) {
	_, first := c.tracer.Start(context.Background(), "first")
	first.End()
	_, second := c.tracer.Start(context.Background(), "second")
	first.End()
	c.carries("in second", second, "second")
	second.End()
	second.End()
	c.bare("after all")
	if len(c.recorder.Ended()) != 2 {
		c.errorf("%d spans ended, want 2", len(c.recorder.Ended()))
	}
}

func endElsewhere(c *Case) {
	_, root := c.tracer.Start(context.Background(), "root")
	elsewhere(func() {
		_, other := c.tracer.Start(context.Background(), "other")
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
	ctx, root := c.tracer.Start(context.Background(), "root")
	ctx, parent := c.tracer.Start(ctx, "parent")
	_, child := c.tracer.Start(ctx, "child")
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
	ctx, root := c.tracer.Start(context.Background(), "root")
	_, child := c.tracer.Start(ctx, "child")
	root.End()
	c.bare("after root")
	_, next := c.tracer.Start(context.Background(), "next")
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
	ctx, consumer := c.tracer.Start(context.Background(), "consumer")
	ctx, message := c.tracer.Start(ctx, "message", trace.WithNewRoot())
	started, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ctx, async := c.tracer.Start(ctx, "async")
		close(started)
		<-ended
		owner, name := c.owner(message, async, "message", "async")
		c.carries("in async", owner, name)
		_, db := c.tracer.Start(ctx, "db")
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
