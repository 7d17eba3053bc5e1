// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// large is a server with a number of series and of values of span_name. It has one span, of
// the last name.
type large struct{ series, values int }

func (s large) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
	case "Series":
		set := `{"labels":[{"name":"service_name","value":"shop"},{"name":"__profile_type__","value":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"}]}`
		_, _ = fmt.Fprintf(w, `{"labelsSet":[%s]}`, strings.Join(slices.Repeat([]string{set}, s.series), ","))
	case "LabelValues":
		names := []string{"shop"}
		if strings.Contains(string(body), `"name":"span_name"`) {
			names = nil
			for i := range s.values {
				names = append(names, fmt.Sprintf("name-%03d", i))
			}
		}
		_ = json.NewEncoder(w).Encode(map[string][]string{"names": names})
	case "SelectMergeStacktraces":
		total := 7
		if last := fmt.Sprintf("name-%03d", s.values-1); strings.Contains(string(body), "span_name=~") && !strings.Contains(string(body), last) {
			total = 0
		}
		_, _ = fmt.Fprintf(w, `{"flamegraph":{"total":"%d"}}`, total)
	default:
		_, _ = io.WriteString(w, "{}")
	}
}

func viewOf(t *testing.T, server http.Handler) *view {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	v, err := (&source{newClient(t, s.URL, 8<<20)}).View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v.(*view)
}

// One page has 64 calls.
func TestCallsOfAPage(t *testing.T) {
	v := viewOf(t, large{})
	for range 64 {
		if _, err := v.client.Total(v.ctx, querier.Selector{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.client.Total(v.ctx, querier.Selector{}); err == nil || !strings.Contains(err.Error(), "this page takes more than 64 calls: ask for less") {
		t.Errorf("got %v", err)
	}
	c := newClient(t, "http://pyroscope", 1)
	synctest.Test(t, func(t *testing.T) {
		v, err := (&source{c}).View(t.Context(), time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		time.Sleep(viewTime)
		if _, err := v.Windows(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 1m30s: ask for less time") {
			t.Errorf("after its time: %v", err)
		}
	})
}

// The name of a span is searched among 256 values, in a bounded number of calls.
func TestValues(t *testing.T) {
	for values, want := range map[int]string{1: "name-000", 5: "name-004", 256: "name-255", 257: ""} {
		var calls atomic.Int64
		v := viewOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			large{1, values}.ServeHTTP(w, r)
		}))
		spans, err := v.byID("00000000000000AA")
		if err != nil || len(spans) != 1 || spans[0].Name != want || spans[0].Service != "shop" || spans[0].CPU != 7 || spans[0].ProfileID != "00000000000000aa" {
			t.Errorf("%d values: %+v, %v, want the name %q", values, spans, err, want)
		}
		if note := strings.Join(v.notes, ""); strings.Contains(note, "the server has 257 of them") != (values > 256) {
			t.Errorf("%d values: note %q", values, note)
		}
		if n := calls.Load(); n > 32 {
			t.Errorf("%d values: %d calls", values, n)
		}
	}
}

// A span of a day and its trace are listed from the minutes of the span.
func TestNear(t *testing.T) {
	now := time.Now()
	for _, ago := range []time.Duration{time.Minute, 7 * time.Hour, 24*time.Hour - time.Minute} {
		at := now.Add(-ago)
		lists := 0
		v := viewOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var asked struct {
				Start, End int64 `json:",string"`
			}
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &asked)
			holds := asked.Start <= at.UnixMilli() && at.UnixMilli() < asked.End
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
			case "SelectMergeStacktraces":
				_, _ = fmt.Fprintf(w, `{"flamegraph":{"total":"%d"}}`, map[bool]int{true: 7}[holds])
			case "SelectHeatmap":
				lists++
				if d := time.Duration(asked.End-asked.Start) * time.Millisecond; !holds || d > nearTime {
					t.Errorf("%s ago: a list of %s, with the span: %t", ago, d, holds)
				}
				_, _ = fmt.Fprintf(w, `{"series":[{"labels":[{"name":"span_name","value":"GET /"}],"slots":[{"exemplars":[{"spanId":"00000000000000aa","traceId":"t","timestamp":"%d"}]}]}]}`, at.UnixMilli())
			default:
				large{series: 1}.ServeHTTP(w, r)
			}
		}))
		v.from, v.until = now.Add(-24*time.Hour), now
		span, err := v.byID("00000000000000aa")
		if err != nil || len(span) != 1 || span[0].Name != "GET /" || span[0].Start.UnixMilli() != at.UnixMilli() {
			t.Fatalf("%s ago: %+v, %v", ago, span, err)
		}
		if trace, err := v.list(store.SpanQuery{TraceID: "t"}); err != nil || len(trace) != 1 || lists != 1 {
			t.Errorf("%s ago: trace %+v, %v, %d lists", ago, trace, err, lists)
		}
	}
}

// A page lists at most 20,000 services, versions and types.
func TestSeriesOfAPage(t *testing.T) {
	if all, err := viewOf(t, large{series: 20_000}).series(); err != nil || len(all) != 20_000 {
		t.Errorf("%d series, %v", len(all), err)
	}
	if _, err := viewOf(t, large{series: 20_001}).series(); err == nil || !strings.Contains(err.Error(), "has 20001 services, versions and types, and a page takes 20000") {
		t.Errorf("got %v", err)
	}
}

func TestLabelName(t *testing.T) {
	for name, want := range map[string]string{"azAZ09_": "azAZ09_", "http.route": "http_route", "9a": "_9a", "0": "_0", "": "_", "a-b/c": "a_b_c", "é": "_"} {
		if got := labelName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestConditions(t *testing.T) {
	const a, b, trace = "00000000000000aa", "00000000000000bb", "000000000000000000000000000000cc"
	for _, test := range []struct {
		matchers []string // label, operator, value
		want     conditions
		notes    int
	}{
		{nil, conditions{labels: "{}", simple: true}, 0},
		{[]string{"", "=", ""}, conditions{labels: "{}", simple: true}, 0},
		{[]string{"service_name", "=", "shop"}, conditions{labels: `{service_name="shop"}`, service: "shop", simple: true}, 0},
		{[]string{"service_name", "!=", "shop"}, conditions{labels: `{service_name!="shop"}`}, 0},
		{[]string{"http.route", "=~", "/a.*", "x", "!~", "b"}, conditions{labels: `{http_route=~"/a.*",x!~"b"}`}, 0},
		{[]string{"profile_id", "=", strings.ToUpper(a)}, conditions{labels: "{}", spans: []string{a}, ids: true}, 0},
		{[]string{"span_id", "=~", a + "|x|" + b}, conditions{labels: "{}", spans: []string{a, b}, ids: true}, 1},
		{[]string{"span_id", "=~", a + "|" + b, "profile_id", "=", b}, conditions{labels: "{}", spans: []string{b}, ids: true}, 0},
		{[]string{"span_id", "=", a, "profile_id", "=", b}, conditions{labels: "{}", ids: true, none: true}, 0},
		{[]string{"profile_id", "=", "any"}, conditions{labels: "{}", ids: true, none: true}, 1},
		{[]string{"trace_id", "=", trace}, conditions{labels: "{}", traces: []string{trace}, ids: true}, 0},
		{[]string{"trace_id", "=", trace, "span_id", "=", a}, conditions{labels: "{}", spans: []string{a}, ids: true}, 1},
	} {
		v := &view{}
		c, err := v.conditionsOf(matchers(t, test.matchers))
		if err != nil || fmt.Sprint(c) != fmt.Sprint(test.want) || len(v.notes) != test.notes {
			t.Errorf("%q: got %+v, %v, notes %q, want %+v", test.matchers, c, err, v.notes, test.want)
		}
	}
	for _, bad := range [][]string{{"span.http.route", "=", "/"}, {"span_id", "!=", a}, {"span_id", "=~", "a.*"}, {"span_id", "=", ""}} {
		if c, err := (&view{}).conditionsOf(matchers(t, bad)); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%q: got %+v, %v", bad, c, err)
		}
	}
}

func matchers(t *testing.T, parts []string) (list []store.Matcher) {
	t.Helper()
	for part := range slices.Chunk(parts, 3) {
		if part[0] == "" {
			list = append(list, store.Matcher{})
			continue
		}
		op := map[string]store.MatchOp{"=": store.MatchEqual, "!=": store.MatchNotEqual, "=~": store.MatchRegexp, "!~": store.MatchNotRegexp}[part[1]]
		m, err := store.NewMatcher(part[0], op, part[2])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// Types of a kind are listed once, for one service or for all.
func TestTypesOf(t *testing.T) {
	cpu, other := querier.Type{ID: "a", Sample: "cpu", Kind: exporter.KindCPU}, querier.Type{ID: "b", Sample: "samples", Kind: exporter.KindCPU}
	heap := querier.Type{ID: "c", Sample: "inuse_space", Kind: exporter.KindHeap}
	v := &view{held: []series{{"shop", "1", cpu}, {"shop", "2", cpu}, {"cart", "1", other}, {"cart", "1", heap}}}
	for _, test := range []struct {
		kind    exporter.Kind
		service string
		want    []querier.Type
	}{
		{exporter.KindCPU, "", []querier.Type{cpu, other}},
		{exporter.KindCPU, "shop", []querier.Type{cpu}},
		{exporter.KindCPU, "cart", []querier.Type{other}},
		{exporter.KindHeap, "", []querier.Type{heap}},
		{exporter.KindHeap, "shop", nil},
	} {
		if got, err := v.typesOf(test.kind, test.service); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s of %q: got %v, %v, want %v", test.kind, test.service, got, err, test.want)
		}
	}
	if got, err := v.sampleTypes(exporter.KindCPU, "cpu", ""); err != nil || !slices.Equal(got, []querier.Type{cpu}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := v.standardTypes(exporter.KindCPU, "cart"); err != nil || len(got) != 0 {
		t.Errorf("only another sample type: got %v, %v", got, err)
	}
	if _, err := v.sampleTypes(exporter.KindCPU, "x", ""); !errors.Is(err, store.ErrUnknownSampleType) || !strings.Contains(err.Error(), `the server has ["cpu" "samples"]`) {
		t.Errorf("got %v", err)
	}
	if got, err := v.sampleTypes(exporter.KindMutex, "delay", ""); err != nil || got != nil {
		t.Errorf("no such kind: got %v, %v", got, err)
	}
}
