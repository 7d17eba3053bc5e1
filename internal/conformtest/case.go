// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformtest is the table of what a wrapper that labels goroutines by
// span must keep unchanged and get right. The root package runs it against
// itself, and internal/integration against other wrappers too.
package conformtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
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
	{"pprof.Do inside a span adds its labels and takes them off", doInside},
	{"returned span and context span are the same, and their provider is the wrapper", sameSpan},
	{"End twice is harmless", endTwice},
	{"End on another goroutine leaves that goroutine's labels alone", endElsewhere},
	{"a parent that ends before its child leaves the labels to it", parentEndsFirst},
	{"a local root that ends before its child takes the labels off for good", rootEndsFirst},
	{"work that outlives its local root keeps its labels", fireAndForget},
	{"a worker is labelled during a child span and left as found", worker},
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
	{"a panic becomes the SDK's exception event with its stack, and goes on", panicEvent},
	{"panic(nil) stays what it is", panicNil},
	{"Goexit leaves no event", goexit},
	{"spans are ReadOnlySpan and ReadWriteSpan of the SDK", readableSpans},
	{"links, attributes, kind, status, events and times are the SDK's", untouched},
	{"a nil context starts a root", nilContext},
	{"processors and samplers see the SDK's own parent span", innerParent},
	{"Shutdown, ForceFlush, processors and Unwrap are reachable", providerMethods},
}

// Wrapper is a wrapper of tracer providers, with its setup.
type Wrapper struct {
	// Wrap wraps a provider so that spans are labelled in the scope below.
	Wrap func(trace.TracerProvider) trace.TracerProvider
	// AllSpans reports whether every span has labels of its own, not only local
	// roots.
	AllSpans bool
	// CannotRead reports that the wrapper cannot read a goroutine's labels.
	// Rows that need it then check the weaker, documented result.
	CannotRead bool
}

// Run checks one row and returns its failures.
func (w Wrapper) Run(r Row) error {
	c := &Case{Wrapper: w}
	c.sdk = c.newSDK()
	elsewhere(func() { r.check(c) }) // without labels of another row
	return errors.Join(c.errs...)
}

// Case is one run of a row.
type Case struct {
	Wrapper
	*sdk
	errs []error
}

func (c *Case) errorf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// sdk is a provider of the SDK, wrapped.
type sdk struct {
	inner    *sdktrace.TracerProvider
	wrapped  trace.TracerProvider
	tracer   trace.Tracer
	recorder *tracetest.SpanRecorder
}

func (c *Case) newSDK(options ...sdktrace.TracerProviderOption) *sdk {
	s := &sdk{recorder: tracetest.NewSpanRecorder()}
	s.inner = sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(s.recorder))...)
	s.wrapped = c.Wrap(s.inner)
	s.tracer = s.wrapped.Tracer("conformance")
	return s
}

// ended returns the ended span with the given name.
func (s *sdk) ended(name string) sdktrace.ReadOnlySpan {
	for _, span := range s.recorder.Ended() {
		if span.Name() == name {
			return span
		}
	}
	return tracetest.SpanStub{Name: "no span " + name}.Snapshot()
}

// Labels is the label set of a goroutine or a context.
type Labels map[string]string

// GoroutineLabels returns the labels of the calling goroutine, as a goroutine
// profile shows them. Only one goroutine may call it at a time.
func GoroutineLabels() Labels {
	var b bytes.Buffer
	err := pprof.Lookup("goroutine").WriteTo(&b, 0)
	p, bad := profile.Parse(&b)
	if err = errors.Join(err, bad); err != nil {
		return Labels{"error": err.Error()}
	}
	found := Labels{}
	for _, sample := range p.Sample {
		if slices.ContainsFunc(sample.Location, callsGoroutineLabels) {
			for key, values := range sample.Label {
				found[key] = values[0]
			}
			return found
		}
	}
	return Labels{"error": "the calling goroutine is not in the goroutine profile"}
}

func callsGoroutineLabels(l *profile.Location) bool {
	return slices.ContainsFunc(l.Line, func(line profile.Line) bool {
		return strings.HasSuffix(line.Function.Name, "/conformtest.GoroutineLabels")
	})
}

// elsewhere runs f on another goroutine, which carries no Labels, and waits.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(context.Background())
		f()
	}()
	<-done
}

// contextLabels returns the labels that runtime/pprof finds in ctx.
func contextLabels(ctx context.Context) Labels {
	found := Labels{}
	pprof.ForLabels(ctx, func(key, value string) bool {
		found[key] = value
		return true
	})
	return found
}

// carries checks that the goroutine carries the labels of span, with the given
// name, and others. It must carry no more labels.
func (c *Case) carries(when string, span trace.Span, name string, others ...Labels) {
	c.same(when, GoroutineLabels(), span, name, others...)
}

// same checks that got are the labels of span and others.
func (c *Case) same(when string, got Labels, span trace.Span, name string, others ...Labels) {
	want, id := union(others), span.SpanContext().SpanID().String()
	want["span_id"], want["span_name"], want["trace_id"] = id, name, span.SpanContext().TraceID().String()
	// Not all wrappers set the alias.
	if _, ok := got["profile_id"]; ok {
		want["profile_id"] = id
	}
	c.equal(when, got, want)
}

func union(all []Labels) Labels {
	sum := Labels{}
	for _, one := range all {
		maps.Copy(sum, one)
	}
	return sum
}

// bare checks that the goroutine carries no labels but others.
func (c *Case) bare(when string, others ...Labels) {
	c.equal(when, GoroutineLabels(), union(others))
}

func (c *Case) equal(when string, got, want Labels) {
	if !maps.Equal(got, want) {
		c.errorf("%s: labels %v, want %v", when, got, want)
	}
}

// owner returns the span that labels the work of child, and its name: child in
// all-spans scope, root in root scope.
func (c *Case) owner(root, child trace.Span, rootName, childName string) (trace.Span, string) {
	if c.AllSpans {
		return child, childName
	}
	return root, rootName
}
