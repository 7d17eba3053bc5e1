// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// The CPU seconds of a name have a series for each tenant. The one with four times the work has
// more of them.
func TestMetrics(t *testing.T) {
	p := start(t, "metrics")
	response, err := http.Get(strings.TrimSuffix(p.page, "/debug/spanprof/") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	seconds := map[string]float64{}
	for _, found := range regexp.MustCompile(`(?m)^spanprof_cpu_time_seconds_total\{.*span_name="GET /report",tenant="(\w+)"\} (.*)$`).FindAllStringSubmatch(string(body), -1) {
		if seconds[found[1]], err = strconv.ParseFloat(found[2], 64); err != nil {
			t.Error(err)
		}
	}
	if len(seconds) != 2 || seconds["large"] <= seconds["small"] || seconds["small"] <= 0 {
		t.Errorf("got %v of:\n%s", seconds, body)
	}
	p.stop()
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
