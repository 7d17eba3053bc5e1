// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func getNames(t *testing.T, s store.Source, params ...string) answer.NameTable {
	t.Helper()
	var table answer.NameTable
	getJSON(t, viewer.Handler(s), target("/names", append(params, "format", "json")...), http.StatusOK, &table)
	return table
}

// Each name has the CPU time that its query selects. All rows and the samples without
// span_name are the process.
func TestNamesAddUp(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	table := getNames(t, s)
	sum := table.UnlabelledCPU.Nanoseconds()
	for _, n := range table.Names {
		p := profileOf(t, h, n.Query)
		if p.Total != n.CPU.Nanoseconds() {
			t.Errorf("%s has %d, its query %s selects %d", n.Name, n.CPU, n.Query, p.Total)
		}
		sum += n.CPU.Nanoseconds()
	}
	process := profileOf(t, h, ".cpu")
	if sum != process.Total || table.UnlabelledCPU != 11e7 {
		t.Errorf("all rows and %d of samples without span_name have %d, the process %d", table.UnlabelledCPU, sum, process.Total)
	}
	if len(table.Names) != 3 || table.Total.Names != 3 || table.Names[0].Name != "GET /search" {
		t.Fatalf("the names are %+v", table.Names)
	}
	n := table.Names[0]
	if d := n.Durations; d == nil || d.P50 != 1e8 || d.P95 != 8e8 || d.Max != 8e8 || n.Measured != 3 || n.Wait != nil {
		t.Errorf("its times are %+v of %d spans, its waits %v", d, n.Measured, n.Wait)
	}
}

// What is left out is counted, in each order.
func TestNamesLeftOut(t *testing.T) {
	s := newTestStore(t)
	for sort, want := range map[string]string{
		"":       "GET /search", // the most CPU time
		"max":    "GET /late",
		"errors": evilName,
		"name":   evilName,
		"spans":  "GET /search",
		"waits":  "GET /search", // unknown: by CPU time
	} {
		table := getNames(t, s, "limit", "1", "sort", sort)
		if len(table.Names) != 1 || table.Names[0].Name != want {
			t.Errorf("by %q %+v is the first, want %s", sort, table.Names, want)
			continue
		}
		if table.Omitted != 2 || table.Total.Spans != 5 {
			t.Errorf("by %q %d are left out of %+v", sort, table.Omitted, table.Total)
		}
	}
	for _, wrong := range []string{"sort=color&format=json", "limit=0&format=json", "format=pprof", "format=folded"} {
		if w := get(t, viewer.Handler(s), "/names?"+wrong); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", wrong, w.Code)
		}
	}
}

// A service means the same for windows and for spans.
func TestNamesOfAService(t *testing.T) {
	s := newTestStore(t)
	cart := resource.NewSchemaless(attribute.String("service.name", "cart"))
	_, span := newTracer(s, cart).Start(t.Context(), "GET /search", trace.WithTimestamp(epoch))
	span.End(trace.WithTimestamp(epoch.Add(time.Second)))
	id := span.SpanContext().SpanID().String()
	b := newProfileBuilder()
	b.add(9, labels(id, "GET /search"), "main.cart")
	b.add(2, nil, "runtime.gcBgMarkWorker")
	export(t, s, cart, exporter.KindCPU, b.profile)
	both := getNames(t, s)
	if len(both.Names) != 4 || len(both.Services) != 2 || both.UnlabelledCPU != 13e7 {
		t.Errorf("of both services: %d names, %d without", len(both.Names), both.UnlabelledCPU)
	}
	one := getNames(t, s, "service", "cart")
	if len(one.Names) != 1 || one.Names[0].CPU != 9e7 || one.Names[0].Spans != 1 || one.UnlabelledCPU != 2e7 {
		t.Errorf("of one: %+v", one)
	}
}

// Waits are wall time less CPU time, in the time that has both.
func TestNamesWaits(t *testing.T) {
	s := newTestStore(t)
	b := newProfileBuilder()
	b.profile.SampleType = []*profile.ValueType{{Type: "wall", Unit: "nanoseconds"}}
	b.addValues([]int64{9e8}, labels(slowID, "GET /search"), "main.search")
	b.addValues([]int64{1e7}, labels(evilID, evilName), "main.sort")
	export(t, s, shop, exporter.KindWall, b.profile)
	waits := map[string]time.Duration{}
	for _, n := range getNames(t, s, "sort", "waits").Names {
		waits[n.Name] = -1
		if n.Wait != nil {
			waits[n.Name] = *n.Wait
		}
	}
	// 900 ms less 63 samples of CPU; less than nothing is nothing; and not sampled.
	if waits["GET /search"] != 27e7 || waits[evilName] != 0 || waits["GET /late"] != -1 {
		t.Errorf("the waits are %v", waits)
	}
}

// A name has its allocations where a heap profile has them.
func TestNamesAllocated(t *testing.T) {
	s := newStore(t)
	endSpan(t, s, "GET /search", 0, 1)
	allocated := func() (n int64) {
		for _, row := range getNames(t, s, "sort", "memory").Names {
			if row.Name == "GET /search" && row.Allocated != nil {
				n = *row.Allocated
			}
		}
		return n
	}
	b := newProfileBuilder()
	b.profile.SampleType = []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}
	b.addValues([]int64{1}, map[string][]string{"span_name": {"GET /search"}}, "main.search")
	export(t, s, shop, exporter.KindHeap, b.profile)
	if n := allocated(); n != 0 {
		t.Errorf("%d bytes without a profile of allocations", n)
	}
	b.profile.SampleType[0].Type = "alloc_space"
	export(t, s, shop, exporter.KindHeap, b.profile)
	if n := allocated(); n != 1 {
		t.Errorf("%d bytes, want 1", n)
	}
}

func TestNamesAsText(t *testing.T) {
	text := get(t, viewer.Handler(newTestStore(t)), "/names?format=text&limit=2").Body.String()
	for _, want := range []string{"shop: 3 names of 5 spans, 660 ms of CPU time, by cpu", "630 ms", "GET /search", "1 more name left out", "110 ms of samples without span_name", "800 ms  GET"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

// A time in the address does not narrow the sums: a note states it.
func TestNamesOfATime(t *testing.T) {
	table := getNames(t, newTestStore(t), "until", strconv.FormatInt(epoch.Add(time.Second).UnixMilli(), 10))
	if len(table.Names) != 3 || table.Note != "these are the sums of all the time held" {
		t.Errorf("got %d names, note %q", len(table.Names), table.Note)
	}
}
