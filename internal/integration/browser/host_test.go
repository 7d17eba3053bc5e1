// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// hostFrame is a function of a host profile with its executable.
type hostFrame struct{ name, file, executable string }

// hostProfile is a host profile as package receiver makes it, with samples of 10 ms.
func hostProfile(labels map[string][]string, stacks ...[]hostFrame) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
	}
	locations, mappings := map[hostFrame]*profile.Location{}, map[string]*profile.Mapping{}
	for i, stack := range stacks {
		n := int64(30 * (i + 1))
		sample := &profile.Sample{Label: labels, Value: []int64{n, n * 1e7}}
		for _, f := range stack { // leaf first
			if mappings[f.executable] == nil {
				m := &profile.Mapping{ID: uint64(len(p.Mapping)) + 1, File: f.executable, HasFunctions: true}
				mappings[f.executable] = m
				p.Mapping = append(p.Mapping, m)
			}
			if locations[f] == nil {
				id := uint64(len(p.Location)) + 1
				function := &profile.Function{ID: id, Name: f.name, Filename: f.file}
				p.Function = append(p.Function, function)
				locations[f] = &profile.Location{ID: id, Address: id, Mapping: mappings[f.executable], Line: []profile.Line{{Function: function}}}
				p.Location = append(p.Location, locations[f])
			}
			sample.Location = append(sample.Location, locations[f])
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// TestHostTab opens the host profile of a span: frames of the kernel, of C and of Go have colours of
// their own, and the legend names them.
func TestHostTab(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	_, span := tp.Tracer("test").Start(t.Context(), "GET /search", trace.WithTimestamp(start.Add(time.Second)))
	span.End(trace.WithTimestamp(start.Add(6 * time.Second)))
	id := span.SpanContext().SpanID().String()

	work := hostFrame{"main.search", "search.go", "shop"}
	labels := func(why string) map[string][]string {
		return map[string][]string{"span_id": {id}, "profile_id": {id}, "span_name": {"GET /search"}, "span_attribution": {why}}
	}
	window := func(kind exporter.Kind, p *profile.Profile) {
		t.Helper()
		w := exporter.Window{Kind: kind, Start: start, Duration: 10 * time.Second, Resource: shop}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
			t.Fatal(err)
		}
	}
	ofGo := labels("")
	delete(ofGo, "span_attribution")
	window(exporter.KindCPU, hostProfile(ofGo, []hostFrame{work}))
	window(exporter.KindHost, hostProfile(labels("first"),
		[]hostFrame{{"crunch", "", "libwork.so"}, work}, []hostFrame{work}, []hostFrame{{"vfs_read", "", exporter.KernelMapping}, work}))
	window(exporter.KindHost, hostProfile(map[string][]string{"span_attribution": {"ambiguous"}}, []hostFrame{work}))
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)

	b := newBrowser(t)
	b.run("the span",
		chromedp.Navigate(server.URL+"/?query=.cpu{profile_id=%22"+id+"%22}"),
		chromedp.WaitVisible(css(`.graph canvas`)))
	b.run("its tab Host",
		click(`.kinds a[href*=host]`),
		chromedp.WaitVisible(css(`.types .chip`)),
		chromedp.WaitVisible(css(`.graph canvas`)),
		settled)
	// The colour of each type in the legend, and whether the graph has it.
	colours := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.types .chip i')].map((e) => getComputedStyle(e).backgroundColor)`))
	slices.Sort(colours)
	if len(slices.Compact(colours)) != 3 {
		t.Errorf("colours %q, want three", colours)
	}
	painted := get(b, chromedp.Evaluate[[]int](`(() => {
		const canvas = document.querySelector('.graph canvas');
		const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
		const counts = new Map();
		for (let i = 0; i < pixels.length; i += 4) {
			const colour = 'rgb(' + pixels[i] + ', ' + pixels[i + 1] + ', ' + pixels[i + 2] + ')';
			counts.set(colour, (counts.get(colour) ?? 0) + 1);
		}
		return [...document.querySelectorAll('.types .chip i')].map((e) => counts.get(getComputedStyle(e).backgroundColor) ?? 0);
	})()`))
	if slices.Min(painted) < 1000 {
		t.Errorf("the graph has %v pixels of the colours in the legend, want 1000 of each", painted)
	}
	b.screenshots("host")
	b.check(server.URL + "/")
}
