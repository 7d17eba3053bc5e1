// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/livetest"
)

// samplesOf polls until a query has samples. Windows have 10 s.
func samplesOf(p *program, query string) {
	p.t.Helper()
	p.poll(func() string {
		v := getJSON[view](p.t, p.page+"?format=json&query="+url.QueryEscape(query))
		if v.Total == 0 {
			return query + ": " + v.Empty
		}
		return ""
	})
}

func TestHTTP(t *testing.T) {
	p := start(t, "http")
	for range 5 {
		get(t, strings.TrimSuffix(p.page, "/debug/spanprof/")+"/report", 200)
	}
	samplesOf(p, `.cpu{span_name="GET /report"}`)
	samplesOf(p, `.alloc_space{span_name="GET /report"}`)
	p.stop()
}

func TestGRPC(t *testing.T) {
	p := start(t, "grpc")
	samplesOf(p, `.cpu{span_name="grpc.health.v1.Health/Check"}`)
	p.stop()
}

// The work of the pool counts for the span of each job.
func TestWorkers(t *testing.T) {
	p := start(t, "workers")
	for _, name := range []string{"small report", "large report"} {
		v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(`.cpu{span_name="`+name+`"}`))
		if v.Flame.under("main.job.run") == 0 {
			t.Errorf("%s: got no samples of main.job.run: %s", name, v.Empty)
		}
	}
	p.stop()
}

func TestCLI(t *testing.T) {
	ctx := livetest.Context(t, livetest.Most)
	file := filepath.Join(t.TempDir(), "report.html")
	cmd := exec.CommandContext(ctx, build(ctx, t, "cli"))
	cmd.Env = append(os.Environ(), "SPANPROF_REPORT="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	report, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hash", "sort", "wait for the server", "main.order"} {
		if !strings.Contains(string(report), text) {
			t.Errorf("%q is not in the report of %d bytes", text, len(report))
		}
	}
}

// Twice the items fail the test of the endpoint.
func TestCosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs.json")
	run := func(items string) string {
		cmd := exec.CommandContext(livetest.Context(t, livetest.Most), "go", "test", "-count=1", "-v", "./test")
		cmd.Env = append(os.Environ(), "COSTS="+file, "ITEMS="+items)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := run("100"); !strings.Contains(out, "--- PASS: TestCost") || !strings.Contains(out, "wrote "+file) {
		t.Errorf("got %s, want a new file", out)
	}
	if out := run("200"); !strings.Contains(out, "--- FAIL: TestCost") || !strings.Contains(out, "GET /checkout: +") {
		t.Errorf("got %s, want a failure", out)
	}
}

// Without an agent the program and the page report that, and what to do.
func TestEbpf(t *testing.T) {
	p := start(t, "ebpf", "-patience", "100ms")
	p.poll(func() string {
		if want := "No agent has connected to /"; !strings.Contains(p.text(), want) {
			return fmt.Sprintf("got %q, want %q", p.text(), want)
		}
		return ""
	})
	v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(`.host{span_name="parse JSON in Go"}`))
	if !strings.Contains(v.Empty, "eBPF agent") {
		t.Errorf("the tab Host is empty because %q", v.Empty)
	}
	p.poll(func() string {
		v := getJSON[view](t, p.page+"?format=json&query="+url.QueryEscape(`.cpu{span_name="read in the kernel"}`))
		return livetest.Few(v.Total, 1, "ns of CPU in spans")
	})
	if log := string(get(t, p.page+"log?format=text", http.StatusOK)); !strings.Contains(log, "agent: messages: 0\n") {
		t.Errorf("the receiver's numbers are not in the log:\n%s", log)
	}
	if out := p.stop(); !strings.Contains(out, "0 messages of agents; samples of this program: 0 certain, 0 ambiguous\n") {
		t.Errorf("no summary in\n%s", out)
	}
}
