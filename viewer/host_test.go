// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// sampled are samples of a host profile: their number, and by what they are a span's.
type sampled struct {
	n   int64
	id  string
	why string
}

// exportHost exports samples in the kernel, below Go's code, as a receiver makes them.
func exportHost(t *testing.T, s *store.Store, list ...sampled) {
	t.Helper()
	b := newProfileBuilder()
	for _, one := range list {
		of := map[string][]string{}
		if one.id != "" {
			of = labels(one.id, "GET /search")
		}
		if one.why != "" {
			of[labelkey.SpanAttribution] = []string{one.why}
		}
		b.add(one.n, of, "vfs_read", "main.serve")
	}
	kernel := &profile.Mapping{ID: 1, File: exporter.KernelMapping, HasFunctions: true}
	b.profile.Mapping = []*profile.Mapping{kernel}
	leaf := b.location("vfs_read")
	leaf.Mapping, leaf.Line[0].Function.Filename = kernel, ""
	export(t, s, shop, exporter.KindHost, b.profile)
}

// A host profile adds nothing to the CPU time of the process's own
// profiler.
func TestHost(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	before := profileOf(t, h, byID(slowID))
	exportHost(t, s,
		sampled{3, slowID, labelkey.First}, sampled{5, slowID, labelkey.ByTimeline},
		sampled{2, fastID, labelkey.ByLink}, sampled{7, "", labelkey.Ambiguous}, sampled{1, "", ""})
	for _, tt := range []struct {
		query   string
		samples int64
		empty   string
	}{
		{`shop.host{profile_id="` + slowID + `"}`, 8, ""},
		{`shop.host{profile_id="` + shortID + `"}`, 0, "no host sample hit this span: it took 400 µs"},
		{`shop.host{span_name="GET /search"}`, 10, ""},
		{byID(slowID), before.Samples, ""},
	} {
		a := profileOf(t, h, tt.query)
		if a.Samples != tt.samples || a.Note != "" || a.Empty != tt.empty {
			t.Errorf("%s: %d samples, note %q, empty %q; want %d, %q", tt.query, a.Samples, a.Note, a.Empty, tt.samples, tt.empty)
		}
	}
	all, after := profileOf(t, h, ".host"), profileOf(t, h, byID(slowID))
	if diff := cmp.Diff([]flame.TypeTotal{{Type: flame.Kernel, Self: 18e7}}, all.FrameTypes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after.Total != before.Total || after.Span.CPU != before.Span.CPU {
		t.Errorf("the CPU time was %d, %d of the span, and is %d, %d with a host profile", before.Total, before.Span.CPU, after.Total, after.Span.CPU)
	}
	text := get(t, h, target("/", "query", ".host", "format", "text")).Body.String()
	for _, want := range []string{"frames   [k] kernel 100.0%\n", " [k] vfs_read: line 4 100.0%\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if folded := get(t, h, target("/", "query", ".host", "format", "folded")).Body.String(); folded != "main.serve;vfs_read_[k] 180000000\n" {
		t.Errorf("folded: %q", folded)
	}
}

// Where no profile but the host's is there, lists lead to it.
func TestHostAlone(t *testing.T) {
	s := newStore(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithIDGenerator(&fixedIDs{}), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	_, span := tp.Tracer("test").Start(t.Context(), "GET /search", trace.WithTimestamp(epoch))
	span.End(trace.WithTimestamp(epoch.Add(time.Second)))
	exportHost(t, s, sampled{3, slowID, labelkey.First}, sampled{1, "", ""})
	h := viewer.Handler(s)
	list := listOf(t, h)
	want := `.host{profile_id="` + slowID + `"}`
	if len(list.Spans) != 1 || list.Spans[0].Query != "shop"+want {
		t.Fatalf("spans %+v, want one that leads to shop%s", list.Spans, want)
	}
	if len(list.Process) != 1 || list.Process[0].Type != "host" || list.Work != ".host{}" {
		t.Errorf("the process has %v, the time line is of %s, want the host's profile", list.Process, list.Work)
	}
}

// An assembly function without a package in its name has the package of its file.
func TestPackageOfAssembly(t *testing.T) {
	s, b := newStore(t), newProfileBuilder()
	b.add(9, nil, "indexbytebody", "bytes.Count", "memcpy")
	b.location("indexbytebody").Line[0].Function.Filename = "/usr/local/go/src/internal/bytealg/indexbyte_amd64.s"
	b.location("memcpy").Line[0].Function.Filename = "memcpy.c"
	export(t, s, nil, exporter.KindCPU, b.profile)
	a := profileOf(t, viewer.Handler(s), ".cpu")
	f, packages := a.Flame.Functions, map[string]string{}
	for i, name := range f.Name {
		packages[a.Flame.Texts[name]] = a.Flame.Texts[f.Package[i]]
	}
	if diff := cmp.Diff(map[string]string{"indexbytebody": "internal/bytealg", "bytes.Count": "", "memcpy": ""}, packages); diff != "" {
		t.Error(diff)
	}
}

// The limits of Go's own profiler are not stated of an agent's stacks, of any kind.
func TestHostHasNoLimitsOfGo(t *testing.T) {
	deep := make([]string, 64)
	for i := range deep {
		deep[i] = fmt.Sprint("main.f", i)
	}
	for _, ofAgent := range []bool{false, true} {
		s := newStore(t)
		b := newProfileBuilder()
		of := labels(endSpan(t, s, "GET /long", 1, 2), "GET /")
		b.add(3, of, deep...)
		b.add(1, of, deep[1:]...)
		if ofAgent {
			b.profile.Mapping = []*profile.Mapping{{ID: 1, File: exporter.KernelMapping, HasFunctions: true}}
		}
		exportSecond(t, s, 0, b)
		a := profileOf(t, viewer.Handler(s), `nginx.cpu{span_name="GET /"}`)
		if a.Samples != 4 || strings.Contains(a.Note, "75.0% of this is in stacks of more than 64 frames") == ofAgent {
			t.Errorf("of an agent: %v: %d samples, note %q", ofAgent, a.Samples, a.Note)
		}
	}
}
