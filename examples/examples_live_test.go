// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

// Package examples runs the examples as a newcomer does: as programs, over
// real sockets.
package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/livetest"
)

// programs are examples with a page.
var programs = map[string]struct {
	visit   string            // a path of the server
	queries map[string]string // each selects samples with the function
	prints  string            // a pattern for the output
}{
	"quickstart": {
		"/",
		map[string]string{`.cpu{span_name="GET /search"}`: "regexp.(*Regexp).doExecute", `.wall{span_name="GET /slow"}`: "main.sources.slow"},
		`\n[1-9]\d* spans ended; spans carry [\d.]+ % of the process's CPU; profiles: store: [1-9]\d* exported\n$`,
	},
	"http":    {"/report", map[string]string{`.cpu{span_name="GET /report"}`: "main.report", `.alloc_space{span_name="GET /report"}`: "main.report"}, ""},
	"grpc":    {"", map[string]string{`.cpu{span_name="grpc.health.v1.Health/Check"}`: ""}, ""},
	"workers": {"", map[string]string{`.cpu{span_name="small report"}`: "main.job.run", `.cpu{span_name="large report"}`: "main.job.run"}, ""},
	"manual":  {"", map[string]string{`.cpu{profile_id="order-4711"}`: "main.slowRequest", `{profile_id=~"order-.*"}`: ""}, `profile_id%3D%22order-4712`},
	"stdout":  {"", map[string]string{`simple.golang.app.cpu{span_name="RootProcess"}`: "main.childWork"}, `"Key": "pyroscope.profile.baseline.url"`},
	"logs":    {"", map[string]string{`.cpu{span_name="place order"}`: "main.work"}, `(?s)("msg":"order placed".*"profile_id":"[0-9a-f]{16}".*){3}`},
	"ebpf":    {"", map[string]string{`.cpu{span_name="read in the kernel"}`: ""}, "\nNo agent has connected to /(?s:.*)0 messages of agents; samples of this program: 0 certain, 0 ambiguous\n"},
}

// link is the address of a profile.
var link = regexp.MustCompile(`http://[^\s"]+/\?[^\s"]+`)

// The spans of a program have samples. The addresses that it prints lead to profiles.
func TestPrograms(t *testing.T) {
	for name, test := range programs {
		t.Run(name, func(t *testing.T) {
			var args []string
			if name == "ebpf" {
				args = []string{"-patience", "100ms"}
			}
			p := start(t, name, args...)
			if test.visit != "" {
				get(t, p.root()+test.visit)
			}
			for query, function := range test.queries {
				p.poll(func() string {
					v := ask[view](p, query)
					if v.Total > 0 && (function == "" || slices.Contains(v.Flame.Texts, function)) {
						return ""
					}
					return fmt.Sprintf("%s has %d samples, want some with %s: %s", query, v.Total, function, v.Empty)
				})
			}
			for _, address := range link.FindAllString(strings.ReplaceAll(p.text(), `\u0026`, "&"), -1) {
				getJSON[struct{}](t, address)
			}
			if out := p.stop(); !regexp.MustCompile(test.prints).MatchString(out) {
				t.Errorf("got %s, want %s", out, test.prints)
			}
		})
	}
}

// The waits of a checkout name the span that held the lock, and its child.
func TestExactTimes(t *testing.T) {
	type answer struct {
		Spans []struct {
			Name, Query   string
			HasExactTimes bool
		}
		Span struct {
			ExactTimes struct {
				Waits []struct {
					State    string
					Blockers []struct {
						Span string
						Did  []struct{ Child string }
					}
				}
			}
		}
	}
	p := start(t, "exacttimes")
	p.poll(func() string {
		for _, s := range getJSON[answer](t, p.page).Spans {
			if s.Name != "GET /checkout" || !s.HasExactTimes {
				continue
			}
			for _, w := range ask[answer](p, s.Query).Span.ExactTimes.Waits {
				if w.State == "mutex" && len(w.Blockers) > 0 && w.Blockers[0].Span == "refresh cache" && len(w.Blockers[0].Did) > 0 && w.Blockers[0].Did[0].Child == "load from disk" {
					return ""
				}
			}
		}
		return "got no checkout that waited for a lock during a load from disk"
	})
	p.stop()
}

// The program serves all paths of config.alloy, with labels.
func TestPull(t *testing.T) {
	p := start(t, "pull")
	config, err := os.ReadFile("pull/config.alloy")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`path +?= +?"(.+)"\n(\s+delta)?`).FindAllStringSubmatch(string(config), -1)
	if len(paths) != 9 || !strings.Contains(string(config), `"service_name" = "shop"`) {
		t.Fatalf("%d paths in config.alloy, want 9 of the service shop", len(paths))
	}
	for _, path := range paths {
		scrape := func(query string) (labelled int64) {
			scraped, err := profile.ParseData(get(t, p.root()+path[1]+query))
			if err != nil {
				t.Fatalf("%s: %v", path[1], err)
			}
			for _, s := range scraped.Sample {
				if slices.Equal(s.Label["span_name"], []string{"order"}) && len(s.Label["span_id"]) == 1 {
					labelled++
				}
			}
			return labelled
		}
		if path[2] == "" {
			scrape("")
			continue
		}
		seconds := 1 // a busy machine has few samples a second
		p.poll(func() string {
			seconds *= 2
			return livetest.Few(scrape(fmt.Sprint("?seconds=", seconds)), 1, path[1]+" samples with the labels of a span")
		})
	}
	p.stop()
}

// The CPU seconds of a name have a series for each tenant. The one with four times the work has
// more of them.
func TestMetrics(t *testing.T) {
	p := start(t, "metrics")
	body := get(t, p.root()+"/metrics")
	seconds := map[string]float64{}
	for _, found := range regexp.MustCompile(`(?m)^spanprof_cpu_time_seconds_total\{.*span_name="GET /report",tenant="(\w+)"\} (.*)$`).FindAllStringSubmatch(string(body), -1) {
		var err error
		if seconds[found[1]], err = strconv.ParseFloat(found[2], 64); err != nil {
			t.Error(err)
		}
	}
	if len(seconds) != 2 || seconds["large"] <= seconds["small"] || seconds["small"] <= 0 {
		t.Errorf("got %v of:\n%s", seconds, body)
	}
	p.stop()
}

// The example's spans have the attributes of ui.json and ui.js. Jaeger's UI makes links of them. The forms
// are documented in https://www.jaegertracing.io/docs/latest/frontend-ui/#link-patterns.
func TestJaeger(t *testing.T) {
	var mu sync.Mutex
	roots := []map[string]string{}
	jaeger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var message collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(must(io.ReadAll(r.Body)), &message); err != nil {
			t.Error(err)
		}
		for _, span := range message.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			attributes := map[string]string{}
			for _, a := range span.GetAttributes() {
				attributes[a.GetKey()] = a.GetValue().GetStringValue()
			}
			if attributes["pyroscope.profile.id"] != "" {
				roots = append(roots, attributes)
			}
		}
	}))
	defer jaeger.Close()
	p := start(t, "jaeger", "-jaeger", jaeger.URL)
	var config struct {
		LinkPatterns []struct{ Type, Key, URL string }
	}
	if err := json.Unmarshal(must(os.ReadFile("jaeger/ui.json")), &config); err != nil {
		t.Fatal(err)
	}
	script := string(must(os.ReadFile("jaeger/ui.js")))
	mu.Lock()
	defer mu.Unlock()
	if len(roots) != 3 || len(config.LinkPatterns) != 2 {
		t.Fatalf("%d spans with a profile, want 3; %d links", len(roots), len(config.LinkPatterns))
	}
	id := config.LinkPatterns[0]
	address := strings.ReplaceAll(id.URL, "#{"+id.Key+"}", roots[0][id.Key])
	if v := getJSON[view](t, strings.Replace(address, "http://127.0.0.1:4040", p.root(), 1)); v.Total == 0 {
		t.Errorf("%s has no samples: %s", address, v.Empty)
	}
	for _, key := range []string{"pyroscope.profile.url", "pyroscope.profile.baseline.url", "pyroscope.profile.diff.url"} {
		if !strings.Contains(script, "attribute('"+key+"'") {
			t.Errorf("ui.js has no link for %s", key)
		}
		getJSON[struct{}](t, roots[0][key])
	}
	p.stop()
}

func TestCLI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	_, cmd := build(t, "cli")
	cmd.Env = append(os.Environ(), "SPANPROF_REPORT="+file)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	report := string(must(os.ReadFile(file)))
	for _, text := range []string{"hash", "sort", "wait for the server", "main.order"} {
		if !strings.Contains(report, text) {
			t.Errorf("%q is not in the report of %d bytes", text, len(report))
		}
	}
}

// Twice the items fail the test of the endpoint.
func TestCosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs.json")
	for items, want := range []string{"--- PASS: TestCost", "--- FAIL: TestCost"} {
		cmd := exec.CommandContext(livetest.Context(t, livetest.Most), "go", "test", "-count=1", "-v", "./test")
		cmd.Env = append(os.Environ(), "COSTS="+file, fmt.Sprint("ITEMS=", 100*(items+1)))
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %s", out, want)
		}
	}
}

// Pyroscope gets profiles with the spans that the program prints.
func TestPush(t *testing.T) {
	for _, name := range []string{"pyroscope", "pyroscope-go"} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			pushed := map[string]bool{} // ids of spans with CPU samples
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				f, _, err := r.FormFile("profile")
				if app, _, _ := strings.Cut(r.URL.Query().Get("name"), "{"); err != nil || app != "shop" {
					t.Errorf("%s: application %s, %v", r.URL, app, err)
					return
				}
				p := must(profile.Parse(f))
				mu.Lock()
				defer mu.Unlock()
				for _, sample := range p.Sample {
					for _, id := range sample.Label["span_id"] {
						pushed[id] = pushed[id] || p.PeriodType.Type == "cpu"
					}
				}
			}))
			defer server.Close()
			_, cmd := build(t, name, "-server", server.URL, "-duration", "5s")
			out := string(must(cmd.Output()))
			spans := regexp.MustCompile(`(?m)^span ([0-9a-f]{16}) of trace [0-9a-f]{32}$`).FindAllStringSubmatch(out, -1)
			if !slices.ContainsFunc(spans, func(span []string) bool { return pushed[span[1]] }) {
				t.Errorf("got samples of %v, want some of the spans of\n%s", pushed, out)
			}
			if name == "pyroscope" && !regexp.MustCompile(`\nprofiles: pyroscope: [1-9]\d* exported\n$`).MatchString(out) {
				t.Errorf("got %s, want the number of profiles", out)
			}
		})
	}
}
