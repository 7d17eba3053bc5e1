// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"log/slog"
	"net/url"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// labelsOf returns the labels in ctx, in order.
func labelsOf(ctx context.Context) string {
	var labels []string
	pprof.ForLabels(ctx, func(key, value string) bool {
		labels = append(labels, key+"="+value)
		return true
	})
	return strings.Join(labels, " ")
}

func attributes(span sdktrace.ReadOnlySpan) map[string]string {
	found := map[string]string{}
	for _, a := range span.Attributes() {
		found[string(a.Key)] = a.Value.AsString()
	}
	return found
}

func TestURLs(t *testing.T) {
	service := resource.NewSchemaless(attribute.String("service.name", "shop"))
	for _, test := range []struct {
		name              string
		options           []spanprof.Option
		profile, baseline string // queries
	}{
		{
			name:     "app name from service.name",
			profile:  `shop.cpu{profile_id="ID"}`,
			baseline: `shop.cpu{region="eu \"1\"",span_name="GET /a?b&c"}`,
		},
		{
			name:     "app name",
			options:  []spanprof.Option{spanprof.WithAppName("my.app")},
			profile:  `my.app.cpu{profile_id="ID"}`,
			baseline: `my.app.cpu{region="eu \"1\"",span_name="GET /a?b&c"}`,
		},
		{
			name:     "app name that cannot be part of a query",
			options:  []spanprof.Option{spanprof.WithAppName("a{b}")},
			profile:  `.cpu{profile_id="ID"}`,
			baseline: `.cpu{region="eu \"1\"",span_name="GET /a?b&c"}`,
		},
		{
			name: "baseline labels add, replace and remove",
			options: []spanprof.Option{spanprof.WithProfileBaselineLabels(map[string]string{
				"version": "1", "region": "", "az": "b",
			})},
			profile:  `shop.cpu{profile_id="ID"}`,
			baseline: `shop.cpu{span_name="GET /a?b&c",az="b",version="1"}`,
		},
		{
			name:     "no name",
			options:  []spanprof.Option{spanprof.WithAddSpanName(false)},
			profile:  `shop.cpu{profile_id="ID"}`,
			baseline: `shop.cpu{region="eu \"1\""}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			tp := spanprof.NewTracerProvider(
				sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithResource(service)),
				append(test.options, spanprof.WithPyroscopeURL("http://localhost:4040/base/"),
					spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true))...)
			var id string
			// Twice: the second span uses what the first has prepared.
			for range 2 {
				pprof.Do(t.Context(), pprof.Labels("region", `eu "1"`), func(ctx context.Context) {
					_, span := tp.Tracer("test").Start(ctx, "GET")
					span.SetName("GET /a?b&c")
					id = span.SpanContext().SpanID().String()
					span.End()
				})
			}
			ended := recorder.Ended()[1]
			start, end := strconv.FormatInt(ended.StartTime().UnixNano(), 10), ""
			got := attributes(ended)
			if got[spanprof.AttributeProfileID] != id {
				t.Errorf("profile id %q, want %q", got[spanprof.AttributeProfileID], id)
			}

			profile := parse(t, got[attributeProfileURL])
			end = profile.Query().Get("until")
			wantQuery := strings.ReplaceAll(test.profile, "ID", id)
			check(t, profile, "http://localhost:4040/base/", map[string]string{"query": wantQuery, "from": start, "until": end})

			baseline := got[attributeBaselineURL]
			if want := strings.Replace(baseline, "/comparison?", "/comparison-diff?", 1); got[attributeDiffURL] != want || want == baseline {
				t.Errorf("difference %s, baseline %s", got[attributeDiffURL], baseline)
			}
			hourBefore := strconv.FormatInt(ended.StartTime().UnixNano()-3600e9, 10)
			check(t, parse(t, baseline), "http://localhost:4040/base/comparison", map[string]string{
				"query": test.baseline, "from": hourBefore, "until": end,
				"leftQuery": test.baseline, "leftFrom": hourBefore, "leftUntil": end,
				"rightQuery": wantQuery, "rightFrom": start, "rightUntil": end,
			})
		})
	}
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil || s == "" {
		t.Fatalf("URL %q: %v", s, err)
	}
	return u
}

func check(t *testing.T, u *url.URL, base string, want map[string]string) {
	t.Helper()
	if got := u.Scheme + "://" + u.Host + u.Path; got != base {
		t.Errorf("URL begins with %s, want %s", got, base)
	}
	for key, values := range u.Query() {
		if len(values) != 1 || want[key] != values[0] {
			t.Errorf("%s = %q, want %q", key, values, want[key])
		}
	}
	if len(u.Query()) != len(want) {
		t.Errorf("parameters %v, want those of %v", u.Query(), want)
	}
}

func TestSpanExporter(t *testing.T) {
	for _, all := range []bool{false, true} {
		memory := tracetest.NewInMemoryExporter()
		exporter := spanprof.NewSpanExporter(memory, spanprof.WithRootSpanOnly(!all), spanprof.WithPyroscopeURL("http://localhost:4040"),
			spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true), spanprof.WithAppName("shop"))
		options := []spanprof.Option{spanprof.WithRootSpanOnly(!all)}
		if all { // otherwise the id is there before, and must not come twice
			options = append(options, spanprof.WithoutProfileIDAttribute())
		}
		tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)), options...)
		ctx, root := tp.Tracer("test").Start(t.Context(), "root", trace.WithAttributes(attribute.String("a", "b")))
		_, child := tp.Tracer("test").Start(ctx, "child")
		child.End()
		root.End()

		for _, span := range memory.GetSpans().Snapshots() {
			got := attributes(span)
			if want := all || span.Name() == "root"; !want {
				if len(got) != 0 {
					t.Errorf("all spans %t: %s has %v", all, span.Name(), got)
				}
				continue
			}
			id := span.SpanContext().SpanID().String()
			if got[spanprof.AttributeProfileID] != id || span.Name() == "root" && got["a"] != "b" || len(got) != len(span.Attributes()) {
				t.Errorf("all spans %t: %s has %v", all, span.Name(), span.Attributes())
			}
			if q := parse(t, got[attributeProfileURL]).Query(); q.Get("query") != `shop.cpu{profile_id="`+id+`"}` {
				t.Errorf("%s: profile URL %v", span.Name(), q)
			}
			if q := parse(t, got[attributeBaselineURL]).Query(); q.Get("leftQuery") != `shop.cpu{span_name="`+span.Name()+`"}` {
				t.Errorf("%s: baseline URL %v", span.Name(), q)
			}
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestScopes(t *testing.T) {
	for _, test := range []struct {
		name        string
		options     []spanprof.Option
		root, child string
	}{
		{"all spans, no names", []spanprof.Option{spanprof.WithAddSpanName(false), spanprof.WithRootSpanOnly(false)}, "profile_id=R span_id=R trace_id=T", "profile_id=C span_id=C trace_id=T"},
		{"names switched on again", []spanprof.Option{spanprof.WithAddSpanName(false), spanprof.WithRootSpanOnly(false), spanprof.WithAddSpanName(true)}, "profile_id=R span_id=R span_name=root trace_id=T", "profile_id=C span_id=C span_name=child trace_id=T"},
		{"ids of all, names of roots", []spanprof.Option{spanprof.WithSpanIDLabelScope(spanprof.ScopeAllSpans)}, "profile_id=R span_id=R span_name=root trace_id=T", "profile_id=C span_id=C span_name=root trace_id=T"},
		{"ids of roots, names of all", []spanprof.Option{spanprof.WithSpanNameLabelScope(spanprof.ScopeAllSpans)}, "profile_id=R span_id=R span_name=root trace_id=T", "profile_id=R span_id=R span_name=child trace_id=T"},
		{"no ids", []spanprof.Option{spanprof.WithSpanIDLabelScope(spanprof.ScopeNone)}, "span_name=root trace_id=T", "span_name=root trace_id=T"},
		{"no names", []spanprof.Option{spanprof.WithSpanNameLabelScope(spanprof.ScopeNone)}, "profile_id=R span_id=R trace_id=T", "profile_id=R span_id=R trace_id=T"},
		{"ids of all, no names", []spanprof.Option{spanprof.WithSpanIDLabelScope(spanprof.ScopeAllSpans), spanprof.WithSpanNameLabelScope(spanprof.ScopeNone)}, "profile_id=R span_id=R trace_id=T", "profile_id=C span_id=C trace_id=T"},
	} {
		tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), test.options...)
		rootCtx, root := tp.Tracer("test").Start(t.Context(), "root")
		childCtx, child := tp.Tracer("test").Start(rootCtx, "child")
		ids := strings.NewReplacer("=R", "="+root.SpanContext().SpanID().String(), "=C", "="+child.SpanContext().SpanID().String(),
			"=T", "="+root.SpanContext().TraceID().String())
		if got := labelsOf(rootCtx); got != ids.Replace(test.root) {
			t.Errorf("%s: root has %s, want %s", test.name, got, test.root)
		}
		if got := labelsOf(childCtx); got != ids.Replace(test.child) {
			t.Errorf("%s: child has %s, want %s", test.name, got, test.child)
		}
		child.End()
		root.End()
	}
}

func TestSamplingOptions(t *testing.T) {
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	tp := spanprof.NewTracerProvider(never, spanprof.WithUnsampledSpanNames())
	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	childCtx, child := tp.Tracer("test").Start(ctx, "child")
	for _, c := range []context.Context{ctx, childCtx} {
		if got := labelsOf(c); got != "span_name=root" {
			t.Errorf("unsampled with names: %q", got)
		}
	}
	child.End()
	root.SetName("renamed")
	if got := labelsOf(ctx); got != "span_name=renamed" {
		t.Errorf("unsampled, renamed: %q", got)
	}
	root.End()
}

func TestNilArguments(t *testing.T) {
	var none context.Context
	span := func(tp *spanprof.TracerProvider) {
		_, span := tp.Tracer("test").Start(none, "root")
		span.End()
	}
	for name, test := range map[string]struct {
		call   func(t *testing.T)
		report string // "" for none
	}{
		"provider":               {func(*testing.T) { span(spanprof.NewTracerProvider(nil)) }, "NewTracerProvider: the provider to wrap is nil"},
		"pointer to a provider":  {func(*testing.T) { span(spanprof.NewTracerProvider((*sdktrace.TracerProvider)(nil))) }, "NewTracerProvider: the provider to wrap is nil"},
		"pointer to a wrapper":   {func(*testing.T) { span(spanprof.NewTracerProvider((*spanprof.TracerProvider)(nil))) }, "NewTracerProvider: the provider to wrap is nil"},
		"zero wrapper":           {func(t *testing.T) { new(spanprof.TracerProvider).Tracer("").Start(t.Context(), "") }, ""},
		"option":                 {func(*testing.T) { span(spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), nil)) }, ""},
		"span processor":         {func(*testing.T) { registered(nil) }, "RegisterSpanProcessor: the span processor is nil"},
		"pointer to a processor": {func(*testing.T) { registered((*tracetest.SpanRecorder)(nil)) }, "RegisterSpanProcessor: the span processor is nil"},
		"exporter":               {func(t *testing.T) { exported(t, nil) }, "NewSpanExporter: the exporter is nil"},
		"pointer to an exporter": {func(t *testing.T) { exported(t, (*tracetest.InMemoryExporter)(nil)) }, "NewSpanExporter: the exporter is nil"},
		"pointer to a handler":   {func(*testing.T) { _ = spanprof.NewLogHandler((*slog.JSONHandler)(nil)).Enabled(none, slog.LevelInfo) }, "NewLogHandler: the inner handler is a nil *slog.JSONHandler"},
		"function of Do":         {func(t *testing.T) { spanprof.Do(t.Context(), nil) }, "Do: the function is nil"},
		"function of Go":         {func(t *testing.T) { spanprof.Go(t.Context(), nil) }, "Go: the function is nil"},
		"contexts of Do and of Go": {func(*testing.T) {
			done := make(chan context.Context, 2)
			spanprof.Do(none, func(ctx context.Context) { done <- ctx })
			spanprof.Go(none, func(ctx context.Context) { done <- ctx })
			(<-done).Done()
			(<-done).Done()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			reported := reporttest.Collect(t)
			test.call(t)
			if got := reported(); test.report == "" && len(got) != 0 || test.report != "" && (len(got) != 1 || !strings.Contains(got[0], test.report)) {
				t.Errorf("got reports %q, want one with %q", got, test.report)
			}
		})
	}
}

// registered ends a span of a provider with sp.
func registered(sp sdktrace.SpanProcessor) {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	tp.RegisterSpanProcessor(sp)
	_, span := tp.Tracer("test").Start(context.Background(), "root")
	span.End()
}

// exported ends a span of a provider with an exporter for exp.
func exported(t *testing.T, exp sdktrace.SpanExporter) {
	t.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spanprof.NewSpanExporter(exp)))
	_, span := tp.Tracer("test").Start(t.Context(), "root")
	span.End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The environment disables spanprof, and enables it where a program uses WithOptIn.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		variable string // is true; "" for none
		options  []spanprof.Option
		labels   bool
	}{
		{"OTEL_SDK_DISABLED", nil, false},
		{"SPANPROF_DISABLED", nil, false},
		{"", []spanprof.Option{spanprof.WithOptIn()}, false},
		{"SPANPROF_ENABLED", []spanprof.Option{spanprof.WithOptIn()}, true},
	} {
		t.Run(test.variable, func(t *testing.T) {
			if test.variable != "" {
				t.Setenv(test.variable, "true")
			}
			recorder := tracetest.NewSpanRecorder()
			tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder),
				sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor(test.options...))), test.options...)
			ctx, span := tp.Tracer("test").Start(t.Context(), "root")
			labels := labelsOf(ctx)
			span.End()
			if got := attributes(recorder.Ended()[0]); (labels != "") != test.labels || (len(got) != 0) != test.labels {
				t.Errorf("labels %q, attributes %v", labels, got)
			}
		})
	}
}

func TestWrappedTwice(t *testing.T) {
	sdk := sdktrace.NewTracerProvider()
	tp := spanprof.NewTracerProvider(spanprof.NewTracerProvider(sdk), spanprof.WithRootSpanOnly(false))
	if tp.Unwrap() != trace.TracerProvider(sdk) {
		t.Errorf("Unwrap() is %T", tp.Unwrap())
	}
}

// Spans that find their labels replaced where they started are counted; others are not.
func TestCounts(t *testing.T) {
	if !spanprof.ReadsGoroutineLabels() {
		t.Skip("the public API cannot tell goroutines apart")
	}
	wiped := &spanlabels.Counts.Wiped
	before := wiped.Load()
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithRootSpanOnly(false)).Tracer("test")
	ctx, root := tracer.Start(t.Context(), "root")
	_, child := tracer.Start(ctx, "child")
	root.End() // out of order, and on the same goroutine
	child.End()
	ctx, root = tracer.Start(t.Context(), "root")
	pprof.Do(ctx, pprof.Labels("step", "1"), func(context.Context) { root.End() })
	_, root = tracer.Start(t.Context(), "root")
	done := make(chan struct{})
	go func() {
		defer close(done)
		root.End() // though it inherited the labels
	}()
	<-done
	if n := wiped.Load() - before; n != 0 {
		t.Errorf("after Ends out of order, in pprof.Do and elsewhere: %d wiped, want 0", n)
	}
	_, root = tracer.Start(t.Context(), "root")
	pprof.Do(context.Background(), pprof.Labels("step", "1"), func(context.Context) {})
	root.End()
	if n := wiped.Load() - before; n != 1 {
		t.Errorf("after a pprof.Do without the span's context: %d wiped, want 1", n)
	}
}

// A sampled span under one that is not is a local root.
func TestSpanExporterUnsampledParent(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	parent := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}
	child := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}
	spans := tracetest.SpanStubs{{Parent: trace.NewSpanContext(parent), SpanContext: trace.NewSpanContext(child)}}
	if err := spanprof.NewSpanExporter(memory).ExportSpans(t.Context(), spans.Snapshots()); err != nil {
		t.Fatal(err)
	}
	if got := attributes(memory.GetSpans().Snapshots()[0]); got[spanprof.AttributeProfileID] == "" {
		t.Errorf("the span has %v", got)
	}
}
