// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/sdkspan"
)

// ownSpan and ownStart are types of a program's own, which are asked by their methods.
type (
	ownSpan  struct{ sdktrace.ReadOnlySpan }
	ownStart struct{ sdktrace.ReadWriteSpan }
)

// recorderOfOwn gives all to a log as types of a program's own.
type recorderOfOwn struct{ recorder }

func (r recorderOfOwn) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { r.log.Start(ownStart{s}) }

func (r recorderOfOwn) OnEnd(s sdktrace.ReadOnlySpan) { r.log.End(ownSpan{s}) }

// checkInPlace checks that the log reads the SDK's spans in place, and no others.
type checkInPlace struct {
	recorder
	t *testing.T
	n int
}

func (c *checkInPlace) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if _, ok := sdkspan.StartedOf(s); ok != sdkspan.InPlace {
		c.t.Errorf("a start of type %T is read in place: %t", s, ok)
	}
	if _, ok := sdkspan.StartedOf(ownStart{s}); ok {
		c.t.Error("a start of another type is read in place")
	}
}

func (c *checkInPlace) OnEnd(s sdktrace.ReadOnlySpan) {
	if _, ok := sdkspan.EndedOf(s); ok != sdkspan.InPlace {
		c.t.Errorf("an end of type %T is read in place: %t", s, ok)
	}
	if _, ok := sdkspan.EndedOf(ownSpan{s}); ok {
		c.t.Error("an end of another type is read in place")
	}
	c.n++
}

// A log has the same of the SDK's spans, which are read in place, as of spans whose methods
// are asked.
func TestSDKSpans(t *testing.T) {
	type counted struct {
		tracer   string
		profiled bool
	}
	var counts [2][]counted
	var logs [2]*Log
	for i := range logs {
		logs[i] = New(Config{
			MaxBytes: 16 << 20, Fraction: 1, PerName: 3, Keys: attributes.NewKeys([]string{"own"}),
			Root: func(tracer string, profiled bool) { counts[i] = append(counts[i], counted{tracer, profiled}) },
		})
	}
	check := &checkInPlace{t: t}
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(recorder{logs[0]}), sdktrace.WithSpanProcessor(recorderOfOwn{recorder{logs[1]}}), sdktrace.WithSpanProcessor(check),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeCountLimit: 8, EventCountLimit: 64, LinkCountLimit: 8, AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8, AttributeValueLengthLimit: -1}),
		sdktrace.WithSampler(someSampled{}),
	)
	random := rand.New(rand.NewPCG(2, 2))
	var open []trace.Span
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{7}, TraceFlags: trace.FlagsSampled, Remote: true})
	for i := range 3000 {
		ctx := context.Background()
		switch random.IntN(4) {
		case 0:
			ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
		case 1:
			if len(open) > 0 {
				ctx = trace.ContextWithSpan(ctx, open[random.IntN(len(open))])
			}
		}
		tracer := tp.Tracer(fmt.Sprint("tracer ", random.IntN(3)), trace.WithInstrumentationVersion("1"))
		_, span := tracer.Start(ctx, fmt.Sprint("GET /", random.IntN(5)), at(float64(i)), trace.WithLinks(make([]trace.Link, random.IntN(2))...))
		use(span, random)
		if open = append(open, span); len(open) > 20 || random.IntN(2) == 0 {
			n := random.IntN(len(open))
			end := at(float64(i) + random.Float64())
			if random.IntN(10) == 0 {
				// Before its start.
				end = at(-1)
			}
			open[n].End(end)
			open = slices.Delete(open, n, n+1)
		}
		if random.IntN(100) == 0 {
			logs[0].Settle()
		}
	}
	if check.n < 1000 {
		t.Fatalf("%d spans ended", check.n)
	}
	if diff := cmp.Diff(textOf(logs[1]), textOf(logs[0])); diff != "" {
		t.Errorf("the log has the SDK's spans another way than those that are asked (-asked +in place):\n%s", diff)
	}
	if diff := cmp.Diff(counts[1], counts[0], cmp.AllowUnexported(counted{})); diff != "" {
		t.Errorf("tracers count other spans (-asked +in place):\n%s", diff)
	}
	if got, want := logs[0].Totals(), logs[1].Totals(); got.Ended != want.Ended || got.Held != want.Held || got.Running != want.Running || got.LostAttributes != want.LostAttributes || got.Evicted != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// use does some of what programs do with a span.
func use(span trace.Span, random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		span.SetStatus(codes.Error, "token=abc out of stock")
	case 1:
		span.RecordError(errors.New("card declined"))
		span.SetStatus(codes.Error, "")
	case 2:
		span.SetAttributes(attribute.String("url.path", "/cart"), attribute.String("own", "x"), attribute.StringSlice("list", []string{"a", "b"}))
	case 3:
		span.SetAttributes(attribute.String(profileID, span.SpanContext().SpanID().String()))
	case 4:
		for i := range 10 {
			span.SetAttributes(attribute.Int(fmt.Sprint("key ", i), i))
		}
	case 5:
		// Too much to wait for the log.
		span.SetAttributes(attribute.String("db.query.text", strings.Repeat("SELECT ", 10000)))
	case 6:
		span.SetName("other")
		span.AddEvent("event", trace.WithAttributes(attribute.String("text", strings.Repeat("x", random.IntN(100000)))))
	}
}

// someSampled samples some spans and records all.
type someSampled struct{}

func (someSampled) Description() string { return "some" }

func (someSampled) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.TraceID[0]%4 == 0 {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

// textOf writes all records of a log, and its counts.
func textOf(l *Log) (lines []string) {
	v := l.Open(nil)
	defer v.Close()
	v.Each(func(*Row) bool { return true }, func(r *Record) {
		var line strings.Builder
		fmt.Fprintf(&line, "%s %s %s %q %q %q %v %v err=%t local=%t missed=%t lost=%d list=%d places=%b", r.TraceID, r.SpanID, r.ParentID, r.Name.Service, r.Name.Value, r.Status,
			r.Start, time.Duration(r.Duration), r.Err, r.LocalRoot, r.Missed, r.Lost, r.list, r.places)
		for e := range v.Attributes(r) {
			fmt.Fprintf(&line, " %s=%q/%t", e.Key, e.Value, e.OfChild)
		}
		lines = append(lines, line.String())
	})
	slices.Sort(lines)
	for _, c := range v.Counts {
		lines = append(lines, fmt.Sprintf("%q %q: %+v", c.Service, c.Value, c.Numbers))
	}
	return lines
}
