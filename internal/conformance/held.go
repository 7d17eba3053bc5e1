// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"runtime/pprof"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// held returns the labels for which a sample of the calling goroutine counts now.
func held() Labels {
	set, _ := spanlabels.At(goruntime.GoroutineLabels(), goruntime.Nanotime())
	found := Labels{}
	for _, l := range set.Labels() {
		found[l.Key] = l.Value
	}
	return found
}

// holds checks that the labels of span count now, and others beside them.
func (c *Case) holds(when string, span trace.Span, name string, others ...Labels) {
	c.same(when, held(), span, name, others...)
}

// holdsNone checks that no labels count now except others.
func (c *Case) holdsNone(when string, others ...Labels) {
	want := Labels{}
	for _, o := range others {
		want = o
	}
	c.equal(when, held(), want)
}

// at starts a goroutine that runs the functions it is sent, one at a time.
type at chan func()

func inherit() at {
	a := make(at)
	go func() {
		for f := range a {
			f()
			a <- nil
		}
	}()
	return a
}

func (a at) run(f func()) {
	a <- f
	<-a
}

func outlivingChild(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	other := inherit()
	defer close(other)
	var child trace.Span
	other.run(func() { _, child = s.tracer.Start(ctx, "child") })
	owner, name := c.owner(root, child, "root", "child")
	root.End()
	other.run(func() {
		c.holds("in child after root's End", owner, name)
		child.End()
		c.holdsNone("after child")
	})
	c.holdsNone("after root")
}

func doAfterEnd(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	root.End()
	other := inherit()
	defer close(other)
	other.run(func() {
		spanlabels.Do(ctx, func(ctx context.Context) {
			c.holds("in Do", root, "root")
			_, child := s.tracer.Start(ctx, "child")
			owner, name := c.owner(root, child, "root", "child")
			c.holds("in Do's child", owner, name)
			child.End()
			c.holds("in Do after its child", root, "root")
		})
		c.holdsNone("after Do")
	})
}

func workerBetweenJobs(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	user := Labels{"worker": "3"}
	w := inherit()
	defer close(w)
	w.run(func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
	})
	for range 3 {
		ctx, root := s.tracer.Start(context.Background(), "root")
		w.run(func() {
			ctx, job := s.tracer.Start(ctx, "job")
			_, forgotten := s.tracer.Start(ctx, "forgotten")
			owner, name := c.owner(root, forgotten, "root", "forgotten")
			c.holds("in the job", owner, name, user)
			job.End()
			c.holdsNone("between jobs", user)
		})
		root.End()
		w.run(func() { c.holdsNone("after the root", user) })
	}
}

func keptCopy(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	step := Labels{"step": "1"}
	var kept at
	ctx, root := s.tracer.Start(context.Background(), "root")
	pprof.Do(ctx, pprof.Labels("step", "1"), func(context.Context) { kept = inherit() })
	defer close(kept)
	root.End()
	kept.run(func() {
		c.holds("after root", root, "root", step)
		_, next := s.tracer.Start(context.Background(), "next")
		c.holds("in next", next, "next", step)
		next.End()
		c.holds("after next", root, "root", step)
	})
	c.holdsNone("where root ended")
}

func renameElsewhere(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "GET")
	other := inherit()
	defer close(other)
	root.SetName("GET /user/{id}")
	c.holds("where it was renamed", root, "GET /user/{id}")
	other.run(func() {
		c.holds("elsewhere", root, "GET")
		_, child := s.tracer.Start(ctx, "child")
		owner, name := c.owner(root, child, "GET /user/{id}", "child")
		c.holds("in a child elsewhere", owner, name)
		child.End()
		c.holds("elsewhere after the child", root, "GET /user/{id}")
	})
	root.End()
	other.run(func() { c.holdsNone("elsewhere after root") })
}

// derivedLabels sets labels made of the span's context and leaves them there, as
// a middleware that adds the tenant does.
func derivedLabels(c *Case) {
	s := c.newSDK()
	tenant := Labels{"tenant": "a"}
	ctx, root := s.tracer.Start(context.Background(), "root")
	ctx, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("tenant", "a")))
	c.carries("in child", owner, name, tenant)
	child.End()
	if c.CannotRead {
		c.carries("after child", root, "root")
		root.End()
		c.bare("after root")
		return
	}
	c.carries("after child", root, "root", tenant)
	root.End()
	c.bare("after root", tenant)

	// A user's own id is not the span's.
	ctx, root = s.tracer.Start(context.Background(), "root")
	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("profile_id", "mine")))
	root.End()
	c.bare("after root with a profile_id of the user's", tenant, Labels{"profile_id": "mine"})
}

func goroutineChain(c *Case) {
	if c.CannotRead {
		return
	}
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	done := make(chan struct{})
	var next func(n int)
	next = func(n int) {
		_, span := s.tracer.Start(ctx, "link")
		owner, name := c.owner(root, span, "root", "link")
		if n%2 == 0 {
			defer span.End() // after the next goroutine's Start, perhaps
		}
		if n > 0 {
			go next(n - 1)
			return
		}
		c.holds("in the last", owner, name)
		close(done)
	}
	go next(10_000)
	<-done
	c.holds("in root", root, "root")
	root.End()
	c.holdsNone("after root")
}
