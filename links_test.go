// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

const (
	attributeProfileURL  = "pyroscope.profile.url"
	attributeBaselineURL = "pyroscope.profile.baseline.url"
	attributeDiffURL     = "pyroscope.profile.diff.url"
)

// linkTo makes profile URLs of a head and the id.
func linkTo(head string) spanprof.Option {
	return spanprof.WithProfileURLBuilder(func(id string) string { return head + id })
}

// linked ends a span of the name and returns it with its attributes and what was
// reported.
func linked(t *testing.T, name string, options ...spanprof.Option) (sdktrace.ReadOnlySpan, map[string]string, func() []string) {
	t.Helper()
	reported := reporttest.Collect(t)
	recorder := tracetest.NewSpanRecorder()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "web shop")))), options...)
	start := time.Unix(1_800_000_000, 123_456_789)
	for range 2 {
		_, span := tp.Tracer("test").Start(t.Context(), name, trace.WithTimestamp(start))
		span.End(trace.WithTimestamp(start.Add(time.Second)))
	}
	ended := recorder.Ended()[1]
	return ended, attributes(ended), reported
}

// TestGrafanaProfileURL compares with the form that Grafana Profiles Drilldown makes itself, by
// buildURL in links.ts of https://github.com/grafana/profiles-drilldown.
func TestGrafanaProfileURL(t *testing.T) {
	span, got, reported := linked(t, "GET", spanprof.WithGrafanaProfileURL("https://grafana.example/", "P 1"),
		linkTo("not this"), spanprof.WithGrafanaProfileURL("https://grafana.example/", "P 1"))
	u := parse(t, got[attributeProfileURL])
	query := u.Query()
	var to int64
	if _, err := fmt.Sscan(query.Get("to"), &to); err != nil || to < time.Now().UnixMilli() {
		t.Errorf("to is %q: %v", query.Get("to"), err)
	}
	check(t, u, "https://grafana.example/a/grafana-pyroscope-app/explore", map[string]string{
		"var-dataSource":      "P 1",
		"var-serviceName":     "web shop",
		"var-profileMetricId": "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"from":                "1799999940123",
		"to":                  query.Get("to"),
		"explorationType":     "flame-graph",
		"var-spanSelector":    span.SpanContext().SpanID().String(),
	})
	if texts := reported(); len(texts) != 0 {
		t.Errorf("reports %q", texts)
	}
}

func TestBadOptions(t *testing.T) {
	page := func(addr string) []spanprof.Option {
		return []spanprof.Option{spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true), spanprof.WithPyroscopeURL(addr)}
	}
	grafana := func(addr, dataSource string) []spanprof.Option {
		return []spanprof.Option{spanprof.WithGrafanaProfileURL(addr, dataSource)}
	}
	for _, test := range []struct {
		options      []spanprof.Option
		option, want string // in the report
	}{
		{[]spanprof.Option{spanprof.WithProfileURL(true)}, "WithPyroscopeURL", ""},
		{page("localhost"), "", "want an address such as"},
		{page("http://[::1"), "", "missing ']'"},
		{page("http://user:secret@localhost"), "", "has a user in it"},
		{page("http://localhost/?"), "", "without query and fragment"},
		{[]spanprof.Option{spanprof.WithSpanNameLimit(0, 1)}, "WithSpanNameLimit", "(0, 1)"},
		{[]spanprof.Option{spanprof.WithSpanNameLimit(1, 0)}, "WithSpanNameLimit", "(1, 0)"},
		{[]spanprof.Option{spanprof.WithProfileURLBuilder(nil)}, "WithProfileURLBuilder", "(nil)"},
		{grafana("", "uid"), "WithGrafanaProfileURL", "no address"},
		{grafana("http://localhost:3000/\xff", "uid"), "WithGrafanaProfileURL", "not UTF-8"},
		{grafana("http://me:secret@localhost:3000/%zz", "uid"), "WithGrafanaProfileURL", "invalid URL escape"},
		{grafana("http://localhost:3000", ""), "WithGrafanaProfileURL", "want the uid"},
	} {
		_, got, reported := linked(t, "GET", test.options...)
		if len(got) != 1 || got[spanprof.AttributeProfileID] == "" {
			t.Errorf("%s %s: attributes %v", test.option, test.want, got)
		}
		if texts := reported(); len(texts) != 1 || !strings.Contains(texts[0], test.option) || !strings.Contains(texts[0], test.want) || strings.Contains(texts[0], "secret") {
			t.Errorf("reports %q, want one of %q with %q", texts, test.option, test.want)
		}
	}
}

// A profile URL of another tool's stays if the baseline has no address, and there is none without ids.
func TestPartsOfURLs(t *testing.T) {
	_, got, reported := linked(t, "GET", spanprof.WithGrafanaProfileURL("http://localhost:3000/sub/", "{uid}"), spanprof.WithProfileBaselineURL(true))
	if got[attributeBaselineURL] != "" || !strings.HasPrefix(got[attributeProfileURL], "http://localhost:3000/sub/a/grafana-pyroscope-app/explore?var-dataSource=%7Buid%7D&") {
		t.Errorf("attributes %v", got)
	}
	if texts := reported(); len(texts) != 1 || !strings.Contains(texts[0], "no pyroscope.profile.baseline.url: no address; set one by WithPyroscopeURL") {
		t.Errorf("reports %q", texts)
	}
	_, got, reported = linked(t, "GET", linkTo("https://p.example/"), spanprof.WithSpanIDLabelScope(spanprof.ScopeNone))
	if texts := reported(); len(got) != 0 || len(texts) != 1 || !strings.Contains(texts[0], "ScopeNone") {
		t.Errorf("attributes %v, reports %q", got, texts)
	}
}

func TestURLBuilder(t *testing.T) {
	for _, test := range []struct {
		name   string
		build  func(string) string
		want   string // ID stands for the span's
		report string
	}{
		{"builds", func(id string) string { return "https://p.example/" + id }, "https://p.example/ID", ""},
		{"default", spanprof.DefaultProfileURLBuilder("http://localhost:4040/", "a&b"), "http://localhost:4040/?query=a%26b.cpu%7Bprofile_id%3D%22ID%22%7D", ""},
		{"returns nothing", func(string) string { return "" }, "", "it returned nothing"},
		{"not UTF-8", func(string) string { return "https://p.example/\xff" }, "", "not UTF-8"},
		{"panics", func(string) string { panic("no") }, "", "it panicked: no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			span, got, reported := linked(t, "GET", spanprof.WithProfileURLBuilder(test.build))
			want := strings.ReplaceAll(test.want, "ID", span.SpanContext().SpanID().String())
			if got[attributeProfileURL] != want {
				t.Errorf("got %q, want %q", got[attributeProfileURL], want)
			}
			if got[spanprof.AttributeProfileID] == "" {
				t.Error("the id is missing too")
			}
			if texts := reported(); test.report == "" && len(texts) != 0 || test.report != "" && (len(texts) != 1 || !strings.Contains(texts[0], test.report)) {
				t.Errorf("reports %q, want one with %q", texts, test.report)
			}
		})
	}
}

// TestURLTimes compares the times of exported spans, which are exact.
func TestURLTimes(t *testing.T) {
	start := time.Unix(1_800_000_000, 123_456_789)
	for name, test := range map[string]struct {
		option spanprof.Option
		want   map[string]string
	}{
		"page":    {spanprof.WithDefaultProfileURLBuilder("http://localhost:4040", "shop"), map[string]string{"from": "1800000000123456789", "until": "1800000001123456789"}},
		"grafana": {spanprof.WithGrafanaProfileURL("http://localhost:3000", "uid"), map[string]string{"from": "1799999940123", "to": "1800000061124"}},
	} {
		memory := tracetest.NewInMemoryExporter()
		tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spanprof.NewSpanExporter(memory, test.option)))
		_, span := tp.Tracer("test").Start(t.Context(), "root", trace.WithTimestamp(start))
		span.End(trace.WithTimestamp(start.Add(time.Second)))
		query := parse(t, attributes(memory.GetSpans().Snapshots()[0])[attributeProfileURL]).Query()
		for key, want := range test.want {
			if got := query.Get(key); got != want {
				t.Errorf("%s: %s = %q, want %q", name, key, got, want)
			}
		}
	}
}
