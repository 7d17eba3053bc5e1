// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sdkspan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// ownSpan and ownStart are types of a program's own, which are asked by their methods.
type (
	ownSpan  struct{ sdktrace.ReadOnlySpan }
	ownStart struct{ sdktrace.ReadWriteSpan }
)

// lastSpans has the last span that started and the last that ended.
type lastSpans struct {
	started sdktrace.ReadWriteSpan
	ended   sdktrace.ReadOnlySpan
}

func (l *lastSpans) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { l.started = s }
func (l *lastSpans) OnEnd(s sdktrace.ReadOnlySpan)                       { l.ended = s }
func (*lastSpans) Shutdown(context.Context) error                        { return nil }
func (*lastSpans) ForceFlush(context.Context) error                      { return nil }

// needInPlace skips a test of what is read in place where nothing is.
func needInPlace(t *testing.T) {
	t.Helper()
	if !InPlace {
		loudskip.Test(t, "by the tag purego spans are asked by their methods")
	}
}

// parity samples traces whose id is even, and records the others.
type parity struct{}

func (parity) Description() string { return "parity" }

func (parity) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.TraceID[15]%2 == 0 {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}

// actions are what programs do with a span.
var actions = []func(trace.Span){
	func(s trace.Span) {
		s.SetAttributes(attribute.String("url.path", "/cart"), attribute.StringSlice("list", []string{"a", "b"}))
	},
	func(s trace.Span) {
		for i := range 10 { // more than the limit
			s.SetAttributes(attribute.Int(fmt.Sprint("key ", i), i))
		}
	},
	func(s trace.Span) { s.AddEvent("event", trace.WithAttributes(attribute.String("text", "x"))) },
	func(s trace.Span) { s.RecordError(errors.New("card declined")) },
	func(s trace.Span) { s.SetStatus(codes.Error, "out of stock") },
	func(s trace.Span) { s.SetName("other") },
	func(s trace.Span) { s.AddLink(trace.LinkFromContext(context.Background())) },
}

// eachSpan shows spans of the SDK that started and ended: for each kind of parent and each
// choice of actions one.
func eachSpan(t *testing.T, started func(sdktrace.ReadWriteSpan), ended func(sdktrace.ReadOnlySpan)) {
	var last lastSpans
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&last), sdktrace.WithSampler(parity{}),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeCountLimit: 8, EventCountLimit: 8, LinkCountLimit: 8, AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8, AttributeValueLengthLimit: -1}))
	state, err := trace.ParseTraceState("vendor=value")
	if err != nil {
		t.Fatal(err)
	}
	parents := []trace.SpanContextConfig{{}}
	for _, remote := range []bool{false, true} {
		for id := range byte(2) {
			parents = append(parents, trace.SpanContextConfig{TraceID: trace.TraceID{0: 1, 15: id}, SpanID: trace.SpanID{7}, TraceState: state, Remote: remote})
		}
	}
	for i, parent := range parents {
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(parent))
		for chosen := range 1 << len(actions) {
			tracer := tp.Tracer(fmt.Sprint("tracer ", chosen%3), trace.WithInstrumentationVersion("1"))
			start := time.Unix(int64(i), int64(chosen))
			_, span := tracer.Start(ctx, fmt.Sprint("GET /", chosen%5), trace.WithTimestamp(start), trace.WithLinks(make([]trace.Link, chosen%2)...))
			started(last.started)
			for j, do := range actions {
				if chosen>>j&1 != 0 {
					do(span)
				}
			}
			// Some end before they start, none at that moment.
			span.End(trace.WithTimestamp(start.Add(time.Duration(2*chosen-5) * time.Second)))
			ended(last.ended)
		}
	}
}

// What is read in place is what the methods say, and not what those of another span say.
func TestSpans(t *testing.T) {
	var (
		lastStarted sdktrace.ReadWriteSpan
		lastEnded   sdktrace.ReadOnlySpan
		n           int
	)
	eachSpan(t, func(s sdktrace.ReadWriteSpan) {
		sdk, ok := StartedOf(s)
		if ok != InPlace || ok && !sdk.agrees(s) {
			t.Fatalf("a start of type %T is read in place: %t", s, ok)
		}
		if ok && lastStarted != nil && sdk.agrees(lastStarted) {
			t.Fatal("a span that started agrees with another one")
		}
		if _, ok := StartedOf(ownStart{s}); ok {
			t.Fatal("a start of another type is read in place")
		}
		lastStarted = s
	}, func(s sdktrace.ReadOnlySpan) {
		sdk, ok := EndedOf(s)
		if ok != InPlace || ok && !sdk.agrees(s) {
			t.Fatalf("an end of type %T is read in place: %t", s, ok)
		}
		if ok && lastEnded != nil && sdk.agrees(lastEnded) {
			t.Fatal("a span that ended agrees with another one")
		}
		if ok && (sdk.Ref().IsZero() || sdk.Ref().Ended() != sdk) {
			t.Fatal("a reference is not to its snapshot")
		}
		if _, ok := EndedOf(ownSpan{s}); ok {
			t.Fatal("an end of another type is read in place")
		}
		lastEnded = s
		n++
	})
	if want := 5 << len(actions); n != want {
		t.Errorf("%d spans ended, want %d", n, want)
	}
	if !(Ref{}).IsZero() {
		t.Error("the zero reference is to a snapshot")
	}
	if _, ok := StartedOf(nil); ok {
		t.Error("a nil start is read in place")
	}
	if _, ok := EndedOf(nil); ok {
		t.Error("a nil end is read in place")
	}
}

// A field that is taken for another one of its type is noticed.
func TestMisplacedFields(t *testing.T) {
	needInPlace(t)
	eachSpan(t, func(s sdktrace.ReadWriteSpan) {
		sdk, ok := StartedOf(s)
		if !ok {
			t.Fatal("a start is not read in place")
		}
		for name, misplace := range map[string]func(*startedLayout){
			"context": func(at *startedLayout) { at.context = at.parent },
			"parent":  func(at *startedLayout) { at.parent = at.context },
		} {
			at := *sdk.at
			if misplace(&at); (Started{sdk.p, &at}).agrees(s) {
				t.Fatalf("another field is taken for a start's %s", name)
			}
		}
	}, func(s sdktrace.ReadOnlySpan) {
		sdk, ok := EndedOf(s)
		if !ok {
			t.Fatal("an end is not read in place")
		}
		for name, misplace := range map[string]func(*endedLayout){
			"context": func(at *endedLayout) { at.context = at.parent },
			"parent":  func(at *endedLayout) { at.parent = at.context },
			"start":   func(at *endedLayout) { at.start = at.end },
			"end":     func(at *endedLayout) { at.end = at.start },
			"name":    func(at *endedLayout) { at.name = at.scope },
		} {
			at := *sdk.at
			if misplace(&at); (Ended{sdk.p, &at}).agrees(s) {
				t.Fatalf("another field is taken for an end's %s", name)
			}
		}
	})
}

// Events refer to spans by the layout that they came with: it stays what it was.
func TestLearnedLayoutStays(t *testing.T) {
	needInPlace(t)
	var spans lastSpans
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&spans))
	_, span := tp.Tracer("test").Start(t.Context(), "GET /")
	defer learnedEnded.Store(learnedEnded.Load())
	defer learnedStarted.Store(learnedStarted.Load())
	first, firstStart := new(endedLayout), new(startedLayout)
	learnedEnded.Store(first)
	learnedStarted.Store(firstStart)
	if got := learnStarted(reflect.TypeOf(spans.started), spans.started); got != firstStart || learnedStarted.Load() != firstStart {
		t.Error("a span that starts later changes the layout of those that start")
	}
	span.End()
	if got := learnEnded(reflect.TypeOf(spans.ended), spans.ended); got != first || learnedEnded.Load() != first {
		t.Error("a span that ends later changes the layout of snapshots")
	}
	if _, ok := StartedOf(spans.started); ok {
		t.Error("a start of an unknown layout is read in place")
	}
	if _, ok := EndedOf(spans.ended); ok {
		t.Error("an end of an unknown layout is read in place")
	}
}

// A struct whose fields have other names or types is not read in place.
func TestUnknownLayouts(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[*lastSpans](), reflect.TypeFor[*sdktrace.Event](), reflect.TypeFor[*endedLayout](), reflect.TypeFor[*int]()} {
		if _, ok := endedLayoutOf(of); ok {
			t.Errorf("%v is taken for a snapshot", of)
		}
		if _, ok := startedLayoutOf(of); ok {
			t.Errorf("%v is taken for a span", of)
		}
	}
}

// Each field that is read is known by its name and its type.
func TestChangedFields(t *testing.T) {
	needInPlace(t)
	var spans lastSpans
	_, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&spans)).Tracer("test").Start(t.Context(), "GET /")
	span.End()
	for _, test := range []struct {
		of    any
		known func(reflect.Type) bool
		want  int
	}{
		{spans.ended, func(of reflect.Type) bool { _, ok := endedLayoutOf(of); return ok }, 12},
		{spans.started, func(of reflect.Type) bool { _, ok := startedLayoutOf(of); return ok }, 4},
	} {
		fields := reflect.VisibleFields(reflect.TypeOf(test.of).Elem())
		fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool { return f.Anonymous || len(f.Index) > 1 })
		if !test.known(pointerTo(fields)) {
			t.Fatalf("the fields of %T are not known", test.of)
		}
		var names, types []string
		for i, f := range fields {
			fields[i].Name = "other"
			if !test.known(pointerTo(fields)) {
				names = append(names, f.Name)
			}
			fields[i] = f
			fields[i].Type = reflect.TypeFor[chan int]()
			if !test.known(pointerTo(fields)) {
				types = append(types, f.Name)
			}
			fields[i] = f
		}
		if len(names) != test.want || !slices.Equal(names, types) {
			t.Errorf("of %T fields are known by name: %q, by type: %q, want the same %d", test.of, names, types, test.want)
		}
	}
}

// pointerTo returns the type of pointers to a struct.
func pointerTo(fields []reflect.StructField) reflect.Type {
	return reflect.PointerTo(reflect.StructOf(fields))
}
