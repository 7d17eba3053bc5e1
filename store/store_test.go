// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

func TestJoin(t *testing.T) {
	s := newStore(t)
	tp := newTracerProvider(s)
	tracer := tp.Tracer("")

	ctx, root := tracer.Start(t.Context(), "GET /", at(0.1), trace.WithSpanKind(trace.SpanKindServer))
	_, child := tracer.Start(ctx, "query", at(0.2))
	_, labelled := tracer.Start(ctx, "render", at(0.3), trace.WithAttributes(attribute.String("pyroscope.profile.id", "x")))
	child.End(at(0.4))
	labelled.SetStatus(codes.Error, "no template")
	labelled.End(at(0.5))
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	_, slow := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), remote), "POST /", at(0.6), trace.WithSpanKind(trace.SpanKindClient))
	root.End(at(0.7))
	slow.End(at(1.5))

	// The tracer provider's end takes nothing away from the profiler.
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"main;serve", 3, labels("profile_id", idOf(root), "span_id", idOf(root), "span_name", "GET /")},
		sample{"main;serve;render", 2, labels("profile_id", idOf(root), "span_id", idOf(labelled), "span_name", "render")},
		sample{"main;gc", 5, nil},
	)))

	want := []store.Span{
		{
			ProfileID: idOf(slow), TraceID: "01000000000000000000000000000000", ParentID: "0200000000000000", Name: "POST /", Service: "checkout",
			Start: epoch.Add(6 * time.Second), Duration: 9 * time.Second, Kind: trace.SpanKindClient, LocalRoot: true,
		},
		{
			ProfileID: idOf(root), TraceID: root.SpanContext().TraceID().String(), Name: "GET /", Service: "checkout",
			Start: epoch.Add(time.Second), Duration: 6 * time.Second, Kind: trace.SpanKindServer, LocalRoot: true,
			CPU: 5 * tick, CPUSamples: 5, CPUInclusive: 5 * tick, SamplesHeld: 5, Label: "GET /", Complete: true,
		},
		{
			ProfileID: idOf(labelled), TraceID: root.SpanContext().TraceID().String(), ParentID: idOf(root), Name: "render", Service: "checkout",
			Start: epoch.Add(3 * time.Second), Duration: 2 * time.Second, Kind: trace.SpanKindInternal, Err: true, Status: "no template",
			CPU: 2 * tick, CPUSamples: 2, CPUInclusive: 2 * tick, SamplesHeld: 2, Label: "render", Complete: true,
		},
	}
	want[2].Above = idOf(root) // in a list with both
	if diff := cmp.Diff(want, s.Spans(store.SpanQuery{})); diff != "" {
		t.Error("newest:", diff)
	}
	for _, label := range []string{"profile_id", "span_id"} {
		got := folded(selectCPU(t, s, matcher(t, label, store.MatchEqual, idOf(root))))
		if diff := cmp.Diff([]string{"main;serve 30000000", "main;serve;render 20000000"}, got); diff != "" {
			t.Error(label, diff)
		}
	}

	stats := s.Stats()
	if stats.Bytes <= 0 {
		t.Error("bytes:", stats.Bytes)
	}
	stats.Bytes = 0
	if diff := cmp.Diff(store.Stats{
		MaxBytes: 64 << 20, SpansEnded: 3, Spans: 3,
		Windows: 1, WindowsReceived: 1, CPUTime: 10 * tick, CPUTimeLabelled: 5 * tick,
	}, stats); diff != "" {
		t.Error("stats:", diff)
	}
}

// matched is a condition with the stacks that it selects, each a letter.
type matched struct {
	label string
	op    store.MatchOp
	value string
	want  string
}

func (m matched) check(t *testing.T, s *store.Store) {
	t.Helper()
	var got strings.Builder
	for _, line := range folded(selectCPU(t, s, matcher(t, m.label, m.op, m.value))) {
		got.WriteString(line[:1])
	}
	if got.String() != m.want {
		t.Errorf("%s %d %q: got %q, want %q", m.label, m.op, m.value, got.String(), m.want)
	}
}

func TestMatchers(t *testing.T) {
	s := newStore(t)
	p := cpuProfile(
		sample{"a", 1, labels("profile_id", "p1", "span_id", "s1", "trace_id", "t1", "span_name", "GET /a", "team", "x")},
		sample{"b", 1, labels("profile_id", "p2", "span_name", "GET /b")},
		sample{"c", 1, labels("span_id", "p2", "team", "y")},
		sample{"d", 1, nil},
	)
	p.Sample[3].NumLabel = map[string][]int64{"bytes": {512}}
	export(t, s, inWindow(0, exporter.KindCPU, p))
	for _, test := range []matched{
		{"profile_id", store.MatchEqual, "p1", "a"},
		{"profile_id", store.MatchEqual, "s1", "a"},
		{"span_id", store.MatchEqual, "p2", "bc"},
		{"span_id", store.MatchNotEqual, "p2", "ad"},
		{"span_id", store.MatchEqual, "", "bd"},
		{"span_id", store.MatchNotEqual, "", "ac"},
		{"profile_id", store.MatchEqual, "none", ""},
		{"profile_id", store.MatchRegexp, "p.", "ab"},
		{"profile_id", store.MatchNotRegexp, "p2|", "a"},
		{"trace_id", store.MatchEqual, "t1", "a"},
		{"trace_id", store.MatchNotEqual, "t1", "bcd"},
		{"span_name", store.MatchRegexp, "GET", ""},
		{"span_name", store.MatchRegexp, "GET .*", "ab"},
		{"team", store.MatchNotEqual, "x", "bcd"},
		{"team", store.MatchNotRegexp, "x|y", "bd"},
		{"bytes", store.MatchEqual, "512", "d"},
		{"none", store.MatchEqual, "", "abcd"},
	} {
		test.check(t, s)
	}
	both := selectCPU(t, s, matcher(t, "span_id", store.MatchEqual, "p2"), matcher(t, "team", store.MatchEqual, "y"), matcher(t, "", store.MatchEqual, "x"))
	if diff := cmp.Diff([]string{"c 10000000"}, folded(both)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "GET /a", "GET /b"}, selectCPU(t, s).SpanNames); diff != "" {
		t.Error("names of spans:", diff)
	}
	for _, bad := range []matched{
		{"team", store.MatchRegexp, "(", ""},
		{"team", store.MatchRegexp, `\Q`, ""},
		{"team", store.MatchOp(9), "", ""},
	} {
		if _, err := store.NewMatcher(bad.label, bad.op, bad.value); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%+v: error %v", bad, err)
		}
	}
}

func TestManualExemplars(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	_, live := spanprof.NewTracerProvider(newTracerProvider(s)).Tracer("").Start(t.Context(), "live", at(0))
	defer live.End()
	_, ended := tracer.Start(t.Context(), "ended", at(0))
	ended.End(at(0.5))
	const foreign = "00000000000000aa"
	export(
		t, s,
		inWindow(0, exporter.KindCPU, cpuProfile(
			sample{"job", 1, labels("profile_id", "job-1", "span_name", "import", "trace_id", "t")},
			sample{"job", 1, labels("profile_id", "00000000000000bb")},
			sample{"span", 1, labels("profile_id", idOf(live))},
			sample{"span", 1, labels("profile_id", idOf(ended))},
			sample{"span", 1, labels("profile_id", foreign, "span_id", foreign, "span_name", "elsewhere")},
			sample{"span", 1, labels("profile_id", foreign)},
		)),
		inWindow(1, exporter.KindCPU, cpuProfile(
			sample{"job", 2, labels("profile_id", "job-1", "span_name", "import")},
			sample{"both", 4, labels("profile_id", "job-1", "span_id", idOf(ended))},
		)),
	)
	job := store.Span{
		ProfileID: "job-1", TraceID: "t", Name: "import", Service: "checkout", Start: epoch, Duration: 2 * step,
		Manual: true, CPU: 7 * tick, CPUSamples: 7, CPUInclusive: 7 * tick, SamplesHeld: 7, Label: "import",
	}
	hex := store.Span{
		ProfileID: "00000000000000bb", Service: "checkout", Start: epoch, Duration: step,
		Manual: true, CPU: tick, CPUSamples: 1, CPUInclusive: tick, SamplesHeld: 1, Complete: true,
	}
	ofEnded, _ := s.Span(idOf(ended))
	if ofEnded.CPUSamples != 5 {
		t.Error("a sample that names an exemplar and a span belongs to both:", ofEnded.CPUSamples)
	}
	if diff := cmp.Diff([]store.Span{job, hex, ofEnded}, s.Spans(store.SpanQuery{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]store.Span{job}, s.Spans(store.SpanQuery{Name: "import"})); diff != "" {
		t.Error(diff)
	}
	if got, ok := s.Span(foreign); !ok || got.Manual || !got.SummaryMissing || got.Running || got.Name != "elsewhere" || got.CPU == 0 {
		t.Errorf("span without a summary: %v %+v", ok, got)
	}
	if got, ok := s.Span(idOf(live)); !ok || got.Manual || got.SummaryMissing || !got.Running || got.Name != "live" || got.CPU == 0 {
		t.Errorf("running span: %v %+v", ok, got)
	}
	if _, ok := s.Span("nothing"); ok {
		t.Error("found nothing")
	}
}

// TestHostSamples has a profile as an eBPF agent makes it: counts and a period.
func TestHostSamples(t *testing.T) {
	s := newStore(t)
	p := cpuProfile(sample{"f", 3, labels("span_id", "00000000000000aa")})
	p.SampleType = p.SampleType[:1]
	p.Sample[0].Value = p.Sample[0].Value[:1]
	p.PeriodType.Unit = "milliseconds"
	p.Period = 10
	export(t, s, inWindow(0, exporter.KindCPU, p))
	if got, _ := s.Span("00000000000000aa"); got.CPU != 3*tick || got.CPUSamples != 3 {
		t.Errorf("%+v", got)
	}
}

func TestExportErrors(t *testing.T) {
	s := newStore(t)
	for name, p := range map[string]*exporter.Profile{
		"bytes":    exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, []byte("no pprof")),
		"nil":      exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, nil),
		"mismatch": exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, &profile.Profile{Sample: []*profile.Sample{{}}}),
	} {
		if err := s.Export(t.Context(), p); err == nil {
			t.Error(name, "is no error")
		}
	}
	if stats := s.Stats(); stats.ParseErrors != 3 || stats.WindowsReceived != 0 {
		t.Errorf("%+v", stats)
	}

	// What CheckValid does not see: locations and functions of no table.
	p := cpuProfile(sample{"f", 1, nil})
	p.Sample[0].Location = []*profile.Location{{Mapping: &profile.Mapping{}, Line: []profile.Line{{}}}, {}}
	p.Sample[0].Label = map[string][]string{"profile_id": {}, "a": {"2", "1"}}
	p.Sample[0].NumLabel = map[string][]int64{"a": {1, 2}}
	p.Sample[0].NumUnit = map[string][]string{"a": {"bytes"}}
	p.SampleType = []*profile.ValueType{nil, nil}
	p.PeriodType = nil
	export(t, s, exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Duration: -1}, p))
	out, err := s.Profile(store.Query{Kind: exporter.KindCPU, IDs: true})
	if err != nil || out.CheckValid() != nil {
		t.Error(err, out.CheckValid())
	}

	if err := s.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Export(t.Context(), inWindow(0, exporter.KindCPU, cpuProfile())); !errors.Is(err, exporter.ErrShutdown) {
		t.Error(err)
	}
	if err := s.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Error(err)
	}
	_, span := newTracerProvider(s).Tracer("").Start(t.Context(), "late")
	span.End()
	if got := selectCPU(t, s); got.Windows != 1 || len(s.Spans(store.SpanQuery{})) != 1 {
		t.Error("not readable after Shutdown, or without a span that ended late:", got)
	}
}

func TestOptions(t *testing.T) {
	if s := newStore(t, nil); s.Stats().MaxBytes != 64<<20 {
		t.Error("a nil option changes", s.Stats().MaxBytes)
	}
	if _, err := store.New(store.WithMaxBytes(8<<20 - 1)); err == nil {
		t.Error("no error below 8 MiB")
	}
	for _, fraction := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := store.New(store.WithSampling(fraction)); err == nil {
			t.Errorf("no error for WithSampling(%v)", fraction)
		}
	}
	if s := newStore(t, store.WithMaxBytes(8<<20)); s.Stats().MaxBytes != 8<<20 {
		t.Error(s.Stats().MaxBytes)
	}
}
