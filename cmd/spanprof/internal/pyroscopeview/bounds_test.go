// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
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
	v, err := newSource(newClient(t, s.URL, 8<<20), time.Hour).View(t.Context(), time.Time{}, time.Time{})
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
		if err := v.call(); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.call(); err == nil || !strings.Contains(err.Error(), "this page takes more than 64 calls: ask for less") {
		t.Errorf("got %v", err)
	}
	v = viewOf(t, large{})
	v.cancel()
	if err := v.call(); err == nil || !strings.Contains(err.Error(), "within 1m30s: ask for less time") {
		t.Errorf("after its time: %v", err)
	}
}

// The name of a span is searched among 256 values, in a bounded number of calls.
func TestValues(t *testing.T) {
	for values, want := range map[int]string{1: "name-000", 5: "name-004", 256: "name-255", 257: ""} {
		v := viewOf(t, large{1, values})
		spans, err := v.byID("00000000000000AA")
		if err != nil || len(spans) != 1 || spans[0].Name != want || spans[0].Service != "shop" || spans[0].CPU != 7 || spans[0].ProfileID != "00000000000000aa" {
			t.Errorf("%d values: %+v, %v, want the name %q", values, spans, err, want)
		}
		if note := strings.Join(v.notes, ""); strings.Contains(note, "the server has 257 of them") != (values > 256) {
			t.Errorf("%d values: note %q", values, note)
		}
		if v.calls > 24 {
			t.Errorf("%d values: %d calls", values, v.calls)
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
