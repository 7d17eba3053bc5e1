// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
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
		get(t, strings.TrimSuffix(p.page, "/debug/spanprof/")+"/hash", 200)
	}
	samplesOf(p, `.cpu{span_name="GET /hash"}`)
	samplesOf(p, `.alloc_space{span_name="GET /hash"}`)
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
