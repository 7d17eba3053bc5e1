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
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/queriertest"
	"github.com/spanprof/spanprof/store"
)

func viewOf(t *testing.T, server http.Handler) *view {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	v, err := (&source{newClient(t, s.URL, 8<<20)}).View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	v.(*view).notes = nil // on the time
	return v.(*view)
}

// One page has 64 calls.
func TestCallsOfAPage(t *testing.T) {
	v := viewOf(t, &fake{})
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

// A span of a day is listed from its minutes.
func TestNear(t *testing.T) {
	now := time.Now()
	for _, ago := range []time.Duration{time.Minute, 7 * time.Hour, 24*time.Hour - time.Minute} {
		at := now.Add(-ago)
		v := viewOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				Start, End int64 `json:",string"`
			}
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &request)
			total := 0
			if request.Start <= at.UnixMilli() && at.UnixMilli() < request.End {
				total = 7
			}
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/Series"):
				_, _ = io.WriteString(w, `{"labelsSet":[{"labels":[{"name":"service_name","value":"shop"},{"name":"__profile_type__","value":"`+cpuType+`"}]}]}`)
			case strings.HasSuffix(r.URL.Path, "/SelectHeatmap") && time.Duration(request.End-request.Start)*time.Millisecond <= nearTime && total > 0:
				_, _ = io.WriteString(w, `{"series":[{"labels":[{"name":"span_name","value":"GET /"}],"slots":[{"exemplars":[{"spanId":"00000000000000aa"}]}]}]}`)
			default:
				_, _ = fmt.Fprintf(w, `{"flamegraph":{"total":"%d"}}`, total)
			}
		}))
		v.from, v.until = now.Add(-24*time.Hour), now
		if spans, err := v.byID("00000000000000aa"); err != nil || len(spans) != 1 || spans[0].Name != "GET /" || spans[0].CPU != 7 {
			t.Errorf("%s ago: %+v, %v", ago, spans, err)
		}
	}
}

// A page lists at most 20,000 services, versions and types.
func TestSeriesOfAPage(t *testing.T) {
	if all, err := viewOf(t, &fake{types: slices.Repeat([]string{cpuType}, 20_000)}).series(); err != nil || len(all) != 20_000 {
		t.Errorf("%d series, %v", len(all), err)
	}
	if _, err := viewOf(t, &fake{types: slices.Repeat([]string{cpuType}, 20_001)}).series(); err == nil || !strings.Contains(err.Error(), "has 20001 services, versions and types, and a page takes 20000") {
		t.Errorf("got %v", err)
	}
}

func TestConditions(t *testing.T) {
	const a, b = "00000000000000aa", "00000000000000bb"
	for _, test := range []struct {
		matchers []string // label, operator, value
		want     conditions
		notes    int
	}{
		{nil, conditions{labels: "{}"}, 0},
		{[]string{"", "=", ""}, conditions{labels: "{}"}, 0},
		{[]string{"service_name", "=", "shop"}, conditions{labels: `{service_name="shop"}`, service: "shop"}, 0},
		{[]string{"service_name", "!=", "shop"}, conditions{labels: `{service_name!="shop"}`}, 0},
		{[]string{"http.route", "=~", "/a.*", "9zAZ09_", "!~", "b"}, conditions{labels: `{http_route=~"/a.*",_9zAZ09_!~"b"}`}, 0},
		{[]string{"profile_id", "=", strings.ToUpper(a)}, conditions{labels: "{}", spans: []string{a}}, 0},
		{[]string{"span_id", "=~", a + "|x|" + b}, conditions{labels: "{}", spans: []string{a, b}}, 1},
		{[]string{"span_id", "=~", a + "|" + b, "profile_id", "=", b}, conditions{labels: "{}", spans: []string{b}}, 0},
		{[]string{"span_id", "=", a, "profile_id", "=", b}, conditions{labels: "{}", spans: []string{}}, 0},
		{[]string{"trace_id", "=", a + b, "span_id", "=", a}, conditions{labels: "{}", spans: []string{a}}, 1},
		{[]string{"profile_id", "=", "any"}, conditions{labels: "{}", spans: []string{}}, 1},
	} {
		v := &view{}
		c, err := v.conditionsOf(matchers(t, test.matchers))
		if err != nil || !reflect.DeepEqual(c, test.want) || len(v.notes) != test.notes {
			t.Errorf("%q: got %+v, %v, notes %q, want %+v", test.matchers, c, err, v.notes, test.want)
		}
	}
	for _, bad := range [][]string{{"span.http.route", "=", "/"}, {"span_id", "!=", a}, {"span_id", "=~", "a.*"}, {"span_id", "=", ""}, {"trace_id", "=", a + b}} {
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

// The first type of a kind and sample type is shown, of the service if there is one.
func TestTypeOf(t *testing.T) {
	cpu, other := querier.Type{ID: "a", Sample: "cpu", Kind: exporter.KindCPU}, querier.Type{ID: "b", Sample: "samples", Kind: exporter.KindCPU}
	otlp := querier.Type{ID: "c", Sample: "cpu", Kind: exporter.KindCPU}
	v := &view{held: []series{{"shop", "1", cpu}, {"shop", "2", cpu}, {"cart", "1", other}, {"cart", "1", otlp}}}
	if got, err := v.typeOf("", exporter.KindCPU, "cpu"); err != nil || got != cpu || len(v.notes) != 1 || v.notes[0] != "only a is shown, and the server has c too" {
		t.Errorf("got %v, %v, notes %q", got, err, v.notes)
	}
	if _, err := v.typeOf("", exporter.KindCPU, "x"); !errors.Is(err, store.ErrUnknownSampleType) || !strings.Contains(err.Error(), `the server has ["cpu" "samples"]`) {
		t.Errorf("got %v", err)
	}
	if got, err := v.typeOf("", exporter.KindMutex, "delay"); err != nil || got.ID != "" {
		t.Errorf("no such kind: got %v, %v", got, err)
	}
	f := &fake{}
	one := viewOf(t, f)
	one.held = v.held
	cart := matchers(t, []string{"service_name", "=", "cart"})
	if _, err := one.Samples(store.Query{Kind: exporter.KindCPU, Matchers: cart, Stacks: true}); err != nil || len(one.notes) > 0 || len(f.requests) != 1 {
		t.Errorf("of one service: %v, notes %q, requests %q", err, one.notes, f.requests)
	}
	if _, err := one.Spans(store.SpanQuery{Service: "cart"}); err != nil || len(one.notes) > 0 || len(f.requests) != 2 || !strings.Contains(f.requests[1], `"profileTypeID":"c"`) {
		t.Errorf("spans of one service: %v, notes %q, requests %q", err, one.notes, f.requests)
	}
}

// answers is a server that sends the same answer to every request.
func answers(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// except answers as recorded; another server answers one method.
func except(t *testing.T, method string, other http.Handler) http.Handler {
	t.Helper()
	r, err := queriertest.Load()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/"+method) {
			other.ServeHTTP(w, request)
			return
		}
		r.ServeHTTP(w, request)
	})
}

// A client that disconnects cancels its calls to the server.
func TestClientGoesAway(t *testing.T) {
	called := make(chan struct{})
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server sees the end of the connection after that.
		close(called)
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	h := Handler(newClient(t, server.URL, 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?query=.cpu&format=json", nil)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(w, r)
	}()
	<-called
	cancel()
	<-done
	<-gone
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
