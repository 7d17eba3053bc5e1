// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

func newRoot(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	ctx, other := c.tracer.Start(ctx, "other", trace.WithNewRoot())
	c.carries("in the new root", other, "other")
	c.same("the new root's context", contextLabels(ctx), other, "other")
	_, child := c.tracer.Start(ctx, "child")
	owner, name := c.owner(other, child, "other", "child")
	c.carries("in the new root's child", owner, name)
	child.End()
	other.End()
	c.carries("after the new root", root, "root")
	root.End()
	c.bare("after all")
}

func bareContextWithSpan(c *Case) {
	_, root := c.tracer.Start(context.Background(), "root")
	_, child := c.tracer.Start(trace.ContextWithSpan(context.Background(), root), "child")
	owner, name := c.owner(root, child, "root", "child")
	c.carries("in child", owner, name)
	child.End()
	if got := c.ended("child").Parent().SpanID(); got != root.SpanContext().SpanID() {
		c.errorf("child's parent is %v, want root", got)
	}
	if c.CannotRead {
		c.bare("after child")
	} else {
		c.carries("after child", root, "root")
	}
	root.End()
	c.bare("after root")
}

func setName(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "GET")
	elsewhere(func() {
		root.SetName("GET /user")
		c.bare("elsewhere after SetName")
	})
	root.SetName("GET /user/{id}")
	c.renamed("after SetName", root, "GET", "GET /user/{id}")
	c.same("the context after SetName", contextLabels(ctx), root, "GET /user/{id}")
	_, child := c.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "GET /user/{id}", "child")
	c.carries("in child", owner, name)
	before := name
	child.SetName("query")
	owner, name = c.owner(root, child, "GET /user/{id}", "query")
	c.renamed("in child after SetName", owner, before, name)
	root.SetName("GET /user/{name}")
	child.End()
	c.carries("after child", root, "GET /user/{name}")
	root.End()
	c.bare("after all")
	if c.ended("GET /user/{name}").Name() != "GET /user/{name}" || c.ended("query").Name() != "query" {
		c.errorf("the spans' names are %v", c.recorder.Ended())
	}
}

func setFirstName(c *Case) {
	pprof.Do(context.Background(), pprof.Labels("tenant", "a"), func(ctx context.Context) {
		_, root := c.tracer.Start(ctx, "")
		root.SetName("GET /user/{id}")
		if !c.CannotRead {
			c.carries("after SetName", root, "GET /user/{id}", Labels{"tenant": "a"})
		}
		root.End()
	})
}

// renamed checks the name after SetName. A wrapper that cannot read a goroutine's
// labels keeps the old one, because the goroutine may belong to another span.
func (c *Case) renamed(when string, span trace.Span, before, after string) {
	if c.CannotRead {
		after = before
	}
	c.carries(when, span, after)
}

func remoteParent(c *Case) {
	remote := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), remote)
	_, span := c.tracer.Start(ctx, "server")
	c.carries("in server", span, "server")
	if span.SpanContext().TraceID() != remote.TraceID() {
		c.errorf("trace id %v, want the remote parent's", span.SpanContext().TraceID())
	}
	span.End()
	c.bare("after server")
	if !hasProfileID(c.ended("server")) {
		c.errorf("no pyroscope.profile.id")
	}
}

func unsampled(c *Case) {
	s := c.newSDK(sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, root := s.tracer.Start(context.Background(), "root")
	c.bare("in root")
	c.equal("root's context", contextLabels(ctx), Labels{})
	_, child := s.tracer.Start(ctx, "child")
	c.bare("in child")
	child.End()
	root.End()
	c.bare("after root")

	c.unsampledChild(sdktrace.Drop)
}

func recordOnly(c *Case) {
	s := c.newSDK(sdktrace.WithSampler(dropNamed{"recorded", sdktrace.RecordOnly}))
	_, root := s.tracer.Start(context.Background(), "recorded")
	c.bare("in root")
	root.End()
	c.bare("after root")
	if hasProfileID(s.ended("recorded")) {
		c.errorf("an unsampled span has pyroscope.profile.id")
	}
	c.unsampledChild(sdktrace.RecordOnly)
}

// unsampledChild continues a sampled span in a child that is not, and in a grandchild.
func (c *Case) unsampledChild(decision sdktrace.SamplingDecision) {
	s := c.newSDK(sdktrace.WithSampler(dropNamed{"child", decision}))
	ctx, kept := s.tracer.Start(context.Background(), "kept")
	ctx, child := s.tracer.Start(ctx, "child")
	c.carries("in the child", kept, "kept")
	if decision == sdktrace.RecordOnly {
		_, grandchild := s.tracer.Start(ctx, "grandchild")
		owner, name := c.owner(kept, grandchild, "kept", "grandchild")
		c.carries("in the child's child", owner, name)
		grandchild.End()
	}
	child.End()
	c.carries("after the child", kept, "kept")
	kept.End()
	c.bare("after all")
}

// dropNamed samples all spans except those with a name.
type dropNamed struct {
	name     string
	decision sdktrace.SamplingDecision
}

func (d dropNamed) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Name == d.name {
		return sdktrace.SamplingResult{Decision: d.decision}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (d dropNamed) Description() string { return "all but " + d.name }

func noopProvider(c *Case) {
	tracer := c.Wrap(noop.NewTracerProvider()).Tracer("conformance")
	ctx, root := tracer.Start(context.Background(), "root")
	c.bare("in root")
	_, child := tracer.Start(ctx, "child")
	c.bare("in child")
	child.SetName("renamed")
	child.End()
	root.End()
	c.bare("after root")
}

func nameCap(c *Case) {
	s := c.newSDK()
	names := map[string]bool{}
	for i := range 1000 {
		ctx, root := s.tracer.Start(context.Background(), fmt.Sprintf("GET /user/%d", i))
		names[contextLabels(ctx)["span_name"]] = true
		root.End()
	}
	if len(names) > 257 || !names["other"] {
		c.errorf("%d values of span_name, want 256 and \"other\"", len(names))
	}
	s = c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), strings.Repeat("ä", 100))
	if got := contextLabels(ctx)["span_name"]; got != strings.Repeat("ä", 64) {
		c.errorf("span_name %q has %d bytes, want 128 and whole runes", got, len(got))
	}
	root.End()
}

func profileID(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	_, child := c.tracer.Start(ctx, "child")
	child.End()
	root.End()
	if !hasProfileID(c.ended("root")) {
		c.errorf("root has attributes %v", c.ended("root").Attributes())
	}
	if hasProfileID(c.ended("child")) != c.AllSpans {
		c.errorf("child has attributes %v", c.ended("child").Attributes())
	}
}

func hasProfileID(s sdktrace.ReadOnlySpan) bool {
	for _, a := range s.Attributes() {
		if a.Key == "pyroscope.profile.id" {
			return a.Value.AsString() == s.SpanContext().SpanID().String()
		}
	}
	return false
}
