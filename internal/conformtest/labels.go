// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"
	"runtime/pprof"
)

func restoredInOrder(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	c.carries("in root", root, "root")
	_, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	c.carries("in child", owner, name)
	child.End()
	c.carries("after child", root, "root")
	root.End()
	c.bare("after root")
}

func descendants(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	c.same("root's context", contextLabels(ctx), root, "root")
	ctx, child := s.tracer.Start(context.WithValue(ctx, contextKey{}, 1), "child")
	owner, name := c.owner(root, child, "root", "child")
	c.same("child's context", contextLabels(ctx), owner, name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, grandchild := s.tracer.Start(ctx, "grandchild")
	owner, name = c.owner(root, grandchild, "root", "grandchild")
	c.carries("in grandchild", owner, name)
	c.same("grandchild's context", contextLabels(ctx), owner, name)
	if ctx.Value(contextKey{}) != 1 {
		c.errorf("a value of the context is lost")
	}
	grandchild.End()
	if p := s.ended("grandchild").Parent(); p.SpanID() != child.SpanContext().SpanID() {
		c.errorf("grandchild's parent is %v, want child", p.SpanID())
	}
	child.End()
	root.End()
	c.bare("after all")
}

type contextKey struct{}

func userLabelsInContext(c *Case) {
	s := c.newSDK()
	user := Labels{"tenant": "a", "aaa": "1", "zzz": "2"}
	pprof.Do(context.Background(), pprof.Labels("tenant", "a", "zzz", "2", "aaa", "1"), func(ctx context.Context) {
		ctx, root := s.tracer.Start(ctx, "root")
		c.carries("in root", root, "root", user)
		c.same("root's context", contextLabels(ctx), root, "root", user)
		ctx, child := s.tracer.Start(ctx, "child")
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
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	user := Labels{"step": "1"}
	pprof.Do(ctx, pprof.Labels("step", "1"), func(ctx context.Context) {
		c.carries("in Do", root, "root", user)
		_, child := s.tracer.Start(ctx, "child")
		owner, name := c.owner(root, child, "root", "child")
		c.carries("in child within Do", owner, name, user)
		child.End()
		c.carries("in Do after child", root, "root", user)
	})
	c.carries("after Do", root, "root")

	ctx, child := s.tracer.Start(ctx, "child")
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
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	user := Labels{"worker": "3"}
	elsewhere(func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
		_, job := s.tracer.Start(ctx, "job")
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
