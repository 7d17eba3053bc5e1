// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Row is one thing that has to hold.
type Row struct {
	Name  string
	check func(*Case)
}

// Rows is the table.
var Rows = []Row{
	{"labels are set at Start and restored at End, in order", restoredInOrder},
	{"a descendant is labelled by its scope, in context and on the goroutine", descendants},
	{"user labels in the context are kept", userLabelsInContext},
	{"user labels on the goroutine alone are kept", userLabelsOnGoroutine},
	{"pprof.Do inside a span adds its labels and takes them off", doInside},
	{"returned span and context span are the same", sameSpan},
	{"End of the context's span restores the labels", contextSpanEnds},
	{"End twice is harmless", endTwice},
	{"End on another goroutine leaves that goroutine's labels alone", endElsewhere},
	{"a parent that ends before its child leaves the labels to it", parentEndsFirst},
	{"an ended parent's labels do not come back", deadParent},
	{"overlapping roots neither wipe nor revive each other's labels", overlappingRoots},
	{"work that outlives its local root keeps its labels", fireAndForget},
	{"a local root's labels go when its last descendant has ended", lastDescendant},
	{"pprof.Do without labels of its own is no End", emptyDo},
	{"a worker is labelled during a child span and left as found", worker},
	{"a child goroutine's span is labelled and leaves what it found", inheritedGoroutine},
	{"WithNewRoot gets ids of its own", newRoot},
	{"a context with nothing but the span keeps the local root", bareContextWithSpan},
	{"SetName after Start is seen in span_name", setName},
	{"SetName gives a span without a name its label", setFirstName},
	{"a span with a remote parent is a local root", remoteParent},
	{"unsampled spans have no labels", unsampled},
	{"recorded but unsampled spans have no labels", recordOnly},
	{"a noop provider's spans have no labels", noopProvider},
	{"the number of span names is bounded", nameCap},
	{"labelled spans have pyroscope.profile.id, others have not", profileID},
	{"a panic becomes the SDK's exception event, and goes on", panicEvent},
	{"a panic's stack trace is recorded where End asks for it", panicStackTrace},
	{"WithoutPanicRecording is obeyed", withoutPanicRecording},
	{"panic(nil) stays what it is", panicNil},
	{"Goexit leaves no event", goexit},
	{"span.TracerProvider() is the wrapper", tracerProviderIdentity},
	{"spans are ReadOnlySpan and ReadWriteSpan of the SDK", readableSpans},
	{"ChildSpanCount counts children", childSpanCount},
	{"links, attributes, kind, status, events and times are the SDK's", untouched},
	{"a nil context starts a root", nilContext},
	{"processors and samplers see the SDK's own parent span", innerParent},
	{"Shutdown, ForceFlush, processors and Unwrap are reachable", providerMethods},
	{"concurrent use", concurrent},
}

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

func userLabelsOnGoroutine(c *Case) {
	s := c.newSDK()
	user := Labels{"worker": "3"}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
	_, root := s.tracer.Start(context.Background(), "root")
	if c.CannotRead {
		c.carries("in root", root, "root")
		root.End()
		c.bare("after root")
		return
	}
	c.carries("in root", root, "root", user)
	root.End()
	c.bare("after root", user)
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

func sameSpan(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	if trace.SpanFromContext(ctx) != root {
		c.errorf("root: SpanFromContext returns another span")
	}
	ctx, child := s.tracer.Start(ctx, "child")
	if trace.SpanFromContext(ctx) != child {
		c.errorf("child: SpanFromContext returns another span")
	}
	child.End()
	root.End()
}

func contextSpanEnds(c *Case) {
	s := c.newSDK()
	ctx, _ := s.tracer.Start(context.Background(), "root")
	trace.SpanFromContext(ctx).End()
	c.bare("after End of the context's span")
	if len(s.recorder.Ended()) != 1 {
		c.errorf("%d spans ended, want 1", len(s.recorder.Ended()))
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
	_, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	root.End()
	if c.CannotRead {
		c.bare("after root")
		return
	}
	c.carries("in child after root ended", owner, name)
	child.End()
	c.bare("after all")
}

func deadParent(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	ctx, child := s.tracer.Start(ctx, "child")
	_, grandchild := s.tracer.Start(ctx, "grandchild")
	root.End()
	child.End()
	grandchild.End()
	if c.CannotRead {
		if got := GoroutineLabels().ids(); got == " " {
			c.errorf("the documented weaker result is that the last End sets its context's Labels, got none")
		}
		return
	}
	c.bare("after all")
}

func overlappingRoots(c *Case) {
	s := c.newSDK()
	_, first := s.tracer.Start(context.Background(), "first")
	_, second := s.tracer.Start(context.Background(), "second")
	first.End()
	if c.CannotRead {
		c.bare("in second after first ended")
	} else {
		c.carries("in second after first ended", second, "second")
	}
	second.End()
	c.bare("after all")
}

// fireAndForget ends a local root, itself a new root within other work, while
// its descendants go on on a goroutine that it started.
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

func lastDescendant(c *Case) {
	s := c.newSDK()
	ctx, request := s.tracer.Start(context.Background(), "request")
	_, child := s.tracer.Start(ctx, "child")
	_, other := s.tracer.Start(context.Background(), "other")
	child.End()
	if !c.CannotRead {
		c.carries("in other", other, "other")
	}
	other.End()
	request.End()
	c.bare("after all")
}

func emptyDo(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	ctx, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "root", "child")
	pprof.Do(ctx, pprof.Labels(), func(context.Context) {
		root.End()
		if !c.CannotRead {
			c.carries("in Do after root ended", owner, name)
		}
	})
	c.carries("after Do", owner, name)
	child.End()
	if !c.CannotRead {
		c.bare("after all")
	}
}

func worker(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	user := Labels{"worker": "3"}
	elsewhere(func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3"))) //nolint:contextcheck // a worker's own
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

func inheritedGoroutine(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.carries("child goroutine", root, "root")
		_, child := s.tracer.Start(ctx, "child")
		owner, name := c.owner(root, child, "root", "child")
		c.carries("child goroutine in child", owner, name)
		child.End()
		c.carries("child goroutine after child", root, "root")
	}()
	<-done
	c.carries("root meanwhile", root, "root")
	root.End()
	c.bare("after root")
}

func newRoot(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	ctx, other := s.tracer.Start(ctx, "other", trace.WithNewRoot())
	c.carries("in the new root", other, "other")
	c.same("the new root's context", contextLabels(ctx), other, "other")
	_, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(other, child, "other", "child")
	c.carries("in the new root's child", owner, name)
	child.End()
	other.End()
	c.carries("after the new root", root, "root")
	root.End()
	c.bare("after all")
}

func bareContextWithSpan(c *Case) {
	s := c.newSDK()
	_, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(trace.ContextWithSpan(context.Background(), root), "child")
	owner, name := c.owner(root, child, "root", "child")
	c.carries("in child", owner, name)
	child.End()
	if got := s.ended("child").Parent().SpanID(); got != root.SpanContext().SpanID() {
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
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "GET")
	root.SetName("GET /user/{id}")
	c.carries("after SetName", root, "GET /user/{id}")
	c.same("the context after SetName", contextLabels(ctx), root, "GET /user/{id}")
	_, child := s.tracer.Start(ctx, "child")
	owner, name := c.owner(root, child, "GET /user/{id}", "child")
	c.carries("in child", owner, name)
	child.SetName("query")
	owner, name = c.owner(root, child, "GET /user/{id}", "query")
	c.carries("in child after SetName", owner, name)
	root.SetName("GET /user/{name}")
	child.End()
	if !c.CannotRead {
		c.carries("after child", root, "GET /user/{name}")
	}
	root.End()
	c.bare("after all")
	if s.ended("GET /user/{name}").Name() != "GET /user/{name}" || s.ended("query").Name() != "query" {
		c.errorf("the spans' names are %v", s.recorder.Ended())
	}
}

func setFirstName(c *Case) {
	s := c.newSDK()
	pprof.Do(context.Background(), pprof.Labels("tenant", "a"), func(ctx context.Context) {
		_, root := s.tracer.Start(ctx, "")
		root.SetName("GET /user/{id}")
		c.carries("after SetName", root, "GET /user/{id}", Labels{"tenant": "a"})
		root.End()
	})
}

func remoteParent(c *Case) {
	s := c.newSDK()
	remote := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), remote)
	_, span := s.tracer.Start(ctx, "server")
	c.carries("in server", span, "server")
	if span.SpanContext().TraceID() != remote.TraceID() {
		c.errorf("trace id %v, want the remote parent's", span.SpanContext().TraceID())
	}
	span.End()
	c.bare("after server")
	if !hasProfileID(s.ended("server")) {
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

	// A sampled span whose child is dropped goes on in it.
	s = c.newSDK(sdktrace.WithSampler(dropNamed{"dropped", sdktrace.Drop}))
	ctx, kept := s.tracer.Start(context.Background(), "kept")
	_, dropped := s.tracer.Start(ctx, "dropped")
	c.carries("in the dropped child", kept, "kept")
	dropped.End()
	c.carries("after the dropped child", kept, "kept")
	kept.End()
	c.bare("after all")
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

	ctx, kept := s.tracer.Start(context.Background(), "kept")
	ctx, child := s.tracer.Start(ctx, "recorded")
	c.carries("in the recorded child", kept, "kept")
	_, grandchild := s.tracer.Start(ctx, "grandchild")
	owner, name := c.owner(kept, grandchild, "kept", "grandchild")
	c.carries("in the recorded child's child", owner, name)
	grandchild.End()
	child.End()
	c.carries("after the recorded child", kept, "kept")
	kept.End()
	c.bare("after all")
}

// dropNamed samples all spans but those with a name.
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
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	child.End()
	root.End()
	if !hasProfileID(s.ended("root")) {
		c.errorf("root has attributes %v", s.ended("root").Attributes())
	}
	if hasProfileID(s.ended("child")) != c.AllSpans {
		c.errorf("child has attributes %v", s.ended("child").Attributes())
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

// endDeferred starts a span, ends it by defer, and runs f within. It returns
// what f panicked with.
func (s *sdk) endDeferred(tracer trace.Tracer, name string, f func(), options ...trace.SpanEndOption) (r any) {
	defer func() { r = recover() }()
	_, span := tracer.Start(context.Background(), name)
	defer span.End(options...)
	f()
	return nil
}

// sameEvents checks that a span of the wrapper has the events that the SDK
// makes on its own.
func (c *Case) sameEvents(s *sdk, f func(), options ...trace.SpanEndOption) (event sdktrace.Event) {
	got := s.endDeferred(s.tracer, "wrapped", f, options...)
	c.bare("after the panic")
	want := s.endDeferred(s.bare.Tracer("conformance"), "bare", f, options...)
	if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
		c.errorf("panics with %T %v, want %T %v", got, got, want, want)
	}
	gotEvents, wantEvents := s.ended("wrapped").Events(), s.ended("bare").Events()
	if len(gotEvents) != len(wantEvents) {
		c.errorf("%d events, want %d", len(gotEvents), len(wantEvents))
		return event
	}
	for i, want := range wantEvents {
		event = gotEvents[i]
		for _, a := range want.Attributes {
			value, ok := eventAttribute(event, a.Key)
			if !ok || a.Key != "exception.stacktrace" && value != a.Value.AsString() {
				c.errorf("event %s: %s is %q, want %q", event.Name, a.Key, value, a.Value.AsString())
			}
		}
	}
	return event
}

func eventAttribute(e sdktrace.Event, key attribute.Key) (string, bool) {
	for _, a := range e.Attributes {
		if a.Key == key {
			return a.Value.AsString(), true
		}
	}
	return "", false
}

var errOops = errors.New("oops")

func panicEvent(c *Case) {
	s := c.newSDK()
	event := c.sameEvents(s, func() { panic(errOops) })
	if message, _ := eventAttribute(event, "exception.message"); message != "oops" {
		c.errorf("exception.message %q", message)
	}
	r := s.endDeferred(s.tracer, "again", func() { panic(errOops) })
	if err, ok := r.(error); !ok || !errors.Is(err, errOops) {
		c.errorf("the panic's value is %v, not the same error", r)
	}
}

func panicStackTrace(c *Case) {
	s := c.newSDK()
	event := c.sameEvents(s, func() { panicHere() }, trace.WithStackTrace(true))
	if stack, _ := eventAttribute(event, "exception.stacktrace"); !strings.Contains(stack, "panicHere") {
		c.errorf("the stack trace does not show where the panic began:\n%s", stack)
	}
}

func panicHere() { panic("here") }

func withoutPanicRecording(c *Case) {
	s := c.newSDK(sdktrace.WithoutPanicRecording())
	c.sameEvents(s, func() { panic(errOops) })
	if n := len(s.ended("wrapped").Events()); n != 0 {
		c.errorf("%d events, want none", n)
	}
}

func panicNil(c *Case) {
	s := c.newSDK()
	c.sameEvents(s, func() { panic(nil) })                       //nolint:govet // on purpose
	r := s.endDeferred(s.tracer, "again", func() { panic(nil) }) //nolint:govet // on purpose
	if _, ok := r.(*runtime.PanicNilError); !ok {
		c.errorf("panic(nil) arrives as %T", r)
	}
}

func goexit(c *Case) {
	s := c.newSDK()
	elsewhere(func() {
		_, span := s.tracer.Start(context.Background(), "root")
		defer span.End()
		runtime.Goexit()
	})
	root := s.ended("root")
	if root.Name() != "root" || len(root.Events()) != 0 {
		c.errorf("span %q with %d events, want root with none", root.Name(), len(root.Events()))
	}
}

func tracerProviderIdentity(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	if root.TracerProvider() != s.wrapped {
		c.errorf("root: %T", root.TracerProvider())
	}
	if p := trace.SpanFromContext(ctx).TracerProvider(); p != s.wrapped {
		c.errorf("root's context: %T", p)
	}
	ctx, child := s.tracer.Start(ctx, "child")
	if p := trace.SpanFromContext(ctx).TracerProvider(); p != s.wrapped || child.TracerProvider() != p {
		c.errorf("child: %T", p)
	}
	child.End()
	root.End()
}

func readableSpans(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	for _, span := range []trace.Span{root, child, trace.SpanFromContext(ctx)} {
		if r, ok := span.(sdktrace.ReadOnlySpan); !ok {
			c.errorf("%T is no ReadOnlySpan", span)
		} else if span == child && r.Name() != "child" {
			c.errorf("Name() is %q", r.Name())
		}
		if _, ok := span.(sdktrace.ReadWriteSpan); !ok {
			c.errorf("%T is no ReadWriteSpan", span)
		}
	}
	child.End()
	root.End()
}

func childSpanCount(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	for range 3 {
		_, child := s.tracer.Start(ctx, "child")
		child.End()
	}
	_, child := s.tracer.Start(trace.ContextWithSpan(context.Background(), root), "child")
	child.End()
	root.End()
	if n := s.ended("root").ChildSpanCount(); n != 4 {
		c.errorf("ChildSpanCount is %d, want 4", n)
	}
}

func untouched(c *Case) {
	s := c.newSDK()
	link := trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}})}
	use := func(t trace.Tracer, name string) sdktrace.ReadOnlySpan {
		_, span := t.Start(context.Background(), name, trace.WithLinks(link), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.Int("a", 1)))
		span.AddLink(link)
		span.AddEvent("event", trace.WithAttributes(attribute.Int("b", 2)))
		span.SetAttributes(attribute.Int("c", 3))
		span.RecordError(errOops)
		span.SetStatus(codes.Error, "failed")
		span.End()
		return s.ended(name)
	}
	got, want := use(s.tracer, "wrapped"), use(s.bare.Tracer("conformance"), "bare")
	describe := func(r sdktrace.ReadOnlySpan) string {
		var kept []attribute.KeyValue
		for _, a := range r.Attributes() {
			if a.Key != "pyroscope.profile.id" {
				kept = append(kept, a)
			}
		}
		var events []string
		for _, e := range r.Events() {
			events = append(events, fmt.Sprint(e.Name, e.Attributes))
		}
		return fmt.Sprint(kept, r.Links(), r.SpanKind(), r.Status(), events, r.InstrumentationScope(), r.Resource(),
			r.StartTime().Before(r.EndTime()), r.DroppedAttributes(), r.DroppedEvents(), r.DroppedLinks(), r.SpanContext().TraceFlags())
	}
	if describe(got) != describe(want) {
		c.errorf("got  %s\nwant %s", describe(got), describe(want))
	}
}

func nilContext(c *Case) {
	defer func() {
		if r := recover(); r != nil {
			c.errorf("panic: %v", r)
		}
	}()
	s := c.newSDK()
	ctx, root := s.tracer.Start(nil, "root") //nolint:staticcheck // the SDK takes it
	c.carries("in root", root, "root")
	_, child := s.tracer.Start(ctx, "child")
	child.End()
	root.End()
	c.bare("after root")
}

// parentSpy notes what a processor finds in the parent's context.
type parentSpy struct {
	sdktrace.SpanProcessor
	parents []trace.Span
}

func (p *parentSpy) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	p.parents = append(p.parents, trace.SpanFromContext(parent))
	p.SpanProcessor.OnStart(parent, s)
}

func innerParent(c *Case) {
	s := c.newSDK()
	spy := &parentSpy{SpanProcessor: s.recorder}
	s.bare.RegisterSpanProcessor(spy)
	bareCtx, bare := s.bare.Tracer("conformance").Start(context.Background(), "bare")
	_, bareChild := s.bare.Tracer("conformance").Start(bareCtx, "bare child")
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	if got, want := fmt.Sprintf("%T", spy.parents[3]), fmt.Sprintf("%T", spy.parents[1]); got != want {
		c.errorf("the parent is a %s, want a %s", got, want)
	}
	if spy.parents[3].SpanContext().SpanID() != root.SpanContext().SpanID() {
		c.errorf("the parent is not the root")
	}
	for _, span := range []trace.Span{child, root, bareChild, bare} {
		span.End()
	}
}

func providerMethods(c *Case) {
	s := c.newSDK()
	ctx := context.Background()
	if p, ok := s.wrapped.(interface{ ForceFlush(context.Context) error }); !ok || p.ForceFlush(ctx) != nil {
		c.errorf("ForceFlush: %t", ok)
	}
	if p, ok := s.wrapped.(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}); ok {
		spy := &parentSpy{SpanProcessor: s.recorder}
		p.RegisterSpanProcessor(spy)
		_, first := s.tracer.Start(ctx, "first")
		p.UnregisterSpanProcessor(spy)
		_, second := s.tracer.Start(ctx, "second")
		second.End()
		first.End()
		if len(spy.parents) != 1 {
			c.errorf("the processor saw %d starts, want 1", len(spy.parents))
		}
	} else {
		c.errorf("RegisterSpanProcessor: false")
	}
	if p, ok := s.wrapped.(interface{ Unwrap() trace.TracerProvider }); !ok || p.Unwrap() != trace.TracerProvider(s.bare) {
		c.errorf("Unwrap: %t", ok)
	}
	if p, ok := s.wrapped.(interface{ Shutdown(context.Context) error }); !ok || p.Shutdown(ctx) != nil {
		c.errorf("Shutdown: %t", ok)
	}
}

func concurrent(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() {
			for j := range 50 {
				ctx, child := s.tracer.Start(ctx, "child")
				child.SetName(fmt.Sprintf("child %d", j%10))
				root.SetName(fmt.Sprintf("root %d", i))
				_, grandchild := s.tracer.Start(ctx, "grandchild")
				if j%2 == 0 {
					child.End()
				}
				grandchild.End()
				child.End()
			}
		})
	}
	workers.Wait()
	root.SetName("root")
	c.carries("in root", root, "root")
	root.End()
	c.bare("after root")
	if n := len(s.recorder.Ended()); n != 8*50*2+1 {
		c.errorf("%d spans ended", n)
	}
}
