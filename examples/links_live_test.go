// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestLogs opens the link of each log record.
func TestLogs(t *testing.T) {
	p := start(t, "logs")
	records := 0
	for line := range strings.Lines(p.text()) {
		var record struct {
			Msg        string
			TraceID    string `json:"trace_id"`
			SpanID     string `json:"span_id"`
			ProfileID  string `json:"profile_id"`
			ProfileURL string `json:"profile_url"`
		}
		if json.Unmarshal([]byte(line), &record) != nil {
			continue
		}
		records++
		if record.Msg != "order placed" || len(record.TraceID) != 32 || record.SpanID != record.ProfileID {
			t.Errorf("record %s", line)
		}
		if v := getJSON[view](t, withFormat(t, record.ProfileURL, "json")); v.Total == 0 {
			t.Errorf("%s: no samples: %s", record.ProfileURL, v.Empty)
		}
	}
	if records != 3 {
		t.Errorf("%d records:\n%s", records, p.text())
	}
	p.stop()
}

// An exemplar has a child's span id and leads to the flame graph of its local root. The time
// of a spike leads to the flame graph of all requests in it.
func TestMetrics(t *testing.T) {
	p := start(t, "metrics")
	metrics := openMetrics(t, strings.TrimSuffix(p.page, "/debug/spanprof/")+"/metrics")
	exemplars := regexp.MustCompile(`# \{.*\}`).FindAllString(metrics, -1)
	if len(exemplars) == 0 {
		t.Fatalf("no exemplars:\n%s", metrics)
	}
	for _, exemplar := range exemplars {
		// The labels of an exemplar have no order.
		child, trace := idIn(exemplar, "span_id"), idIn(exemplar, "trace_id")
		list := getJSON[struct {
			Spans []struct{ Name, ProfileID, Query string }
		}](t, p.page+"?format=json&trace="+trace)
		if len(child) != 16 || len(list.Spans) != 1 || list.Spans[0].Name != "checkout" || list.Spans[0].ProfileID == child {
			t.Fatalf("spans of the trace of %s: %v, want the local root", exemplar, list.Spans)
		}
		// Both ids lead to the local root at once.
		byBoth := `.cpu{span_id="` + child + `",trace_id="` + trace + `"}`
		for _, query := range []string{list.Spans[0].Query, byBoth} {
			if v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(query)); v.Total == 0 {
				t.Errorf("%s: no samples: %s", query, v.Empty)
			}
		}
	}
	// Grafana's ${__from} and ${__to} are milliseconds.
	now := time.Now()
	for _, spike := range []struct {
		from, until time.Time
		empty       bool
	}{{now.Add(-5 * time.Minute), now, false}, {now.Add(-2 * time.Hour), now.Add(-time.Hour), true}} {
		v := getJSON[view](t, fmt.Sprintf("%s?format=json&from=%d&until=%d&query=%s", p.page, spike.from.UnixMilli(), spike.until.UnixMilli(), url.QueryEscape(`.cpu{span_name="checkout"}`)))
		if (v.Total == 0) != spike.empty {
			t.Errorf("from %s until %s: total %d, %s", spike.from, spike.until, v.Total, v.Empty)
		}
	}

	// What a link opens after its time: a text, and no error.
	for query, want := range map[string]string{
		`.cpu{profile_id="00000000000000c1"}`:               "nothing here has the id",
		`.cpu{trace_id="00000000000000000000000000000001"}`: "no sample in",
	} {
		if v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(query)); v.Total != 0 || !strings.Contains(v.Empty, want) {
			t.Errorf("%s: total %d, %q, want %q", query, v.Total, v.Empty, want)
		}
	}
	p.stop()
}

// idIn returns the value of a label of an exemplar.
func idIn(exemplar, label string) string {
	_, rest, _ := strings.Cut(exemplar, label+`="`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// openMetrics scrapes as Prometheus does: exemplars are in this format alone.
func openMetrics(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestJaeger sends the example's spans to an OTLP receiver. It opens the links that Jaeger's
// UI makes of their attributes by ui.json and ui.js. The forms are documented in
// https://www.jaegertracing.io/docs/latest/frontend-ui/#link-patterns.
func TestJaeger(t *testing.T) {
	spans := &receivedSpans{}
	jaeger := httptest.NewServer(spans)
	defer jaeger.Close()
	p := start(t, "jaeger", "-jaeger", jaeger.URL)

	var config struct {
		LinkPatterns []struct{ Type, Key, URL, Text string }
	}
	file, err := os.ReadFile(filepath.Join("jaeger", "ui.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &config); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("jaeger", "ui.js"))
	if err != nil {
		t.Fatal(err)
	}
	roots := 0
	for _, attributes := range spans.all() {
		if attributes["pyroscope.profile.id"] == "" {
			continue // a child
		}
		roots++
		opened := 0
		for _, pattern := range config.LinkPatterns {
			address := pattern.URL
			switch pattern.Type {
			case "tags":
				// Jaeger escapes the values.
				address = strings.ReplaceAll(address, "#{"+pattern.Key+"}", url.QueryEscape(attributes[pattern.Key]))
			case "traces":
				address = strings.ReplaceAll(address, "#{traceID}", attributes["trace id"])
			}
			address = strings.Replace(address, "http://127.0.0.1:4040", p.page, 1)
			get(t, withFormat(t, address, "text"), http.StatusOK)
			if strings.Contains(address, attributes["pyroscope.profile.id"]) || strings.Contains(address, attributes["trace id"]) {
				opened++
			}
		}
		if opened != 2 {
			t.Errorf("%d of ui.json's links name the span or its trace", opened)
		}
		for _, key := range []string{"pyroscope.profile.url", "pyroscope.profile.baseline.url", "pyroscope.profile.diff.url"} {
			if !strings.Contains(string(script), "attribute('"+key+"'") {
				t.Errorf("ui.js has no link for %s", key)
			}
			get(t, withFormat(t, attributes[key], "json"), http.StatusOK)
		}
	}
	if roots != 3 {
		t.Errorf("%d spans with a profile, want 3", roots)
	}
	p.stop()
}

// receivedSpans are the attributes of spans that came by OTLP/HTTP.
type receivedSpans struct {
	mu    sync.Mutex
	spans []map[string]string
}

func (r *receivedSpans) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var message collectortrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range message.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				attributes := map[string]string{"trace id": hex.EncodeToString(span.GetTraceId())}
				for _, a := range span.GetAttributes() {
					attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				r.spans = append(r.spans, attributes)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receivedSpans) all() []map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans
}
