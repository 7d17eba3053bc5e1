// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// viewing runs `spanprof view` until the test ends, and returns the address to open.
func viewing(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"view"}, args...), in, &errs)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != exitDone {
			t.Errorf("view ended with code %d: %s", c, errs.String())
		}
	})
	page, ok := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	if !ok {
		t.Fatalf("the first line is %q: %v", line, err)
	}
	return page
}

func fetch(t *testing.T, address, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const profilesDir = "../../store/testdata/service/"

func TestViewFiles(t *testing.T) {
	page := viewing(t, "-allow-host", "debug.example.com", profilesDir+"cpu0.pprof.gz", profilesDir+"cpu1.pprof.gz")
	if !strings.Contains(page, "/comparison?") {
		t.Errorf("it opens %s", page)
	}
	if status, text := fetch(t, page+"&format=text", ""); status != http.StatusOK || !strings.Contains(text, "in 771 samples of 480 profile ids") || !strings.Contains(text, "in 834 samples of 551 profile ids") {
		t.Errorf("status %d:\n%s", status, text)
	}
	for host, want := range map[string]int{"debug.example.com": http.StatusOK, "evil.example.com": http.StatusForbidden} {
		if status, text := fetch(t, page, host); status != want {
			t.Errorf("status %d for the host %s, want %d: %s", status, host, want, text)
		}
	}
}

// The page as one file is no SOURCE.
func TestViewFrozenPage(t *testing.T) {
	_, frozen := fetch(t, viewing(t, profilesDir+"cpu0.pprof.gz")+"?format=frozen", "")
	outcome{exitFailed, "", "a page of spanprof: open it in a browser"}.check(t, "view", writeFile(t, filepath.Join(t.TempDir(), "report.html"), []byte(frozen)))
}

func TestViewPyroscopeAway(t *testing.T) {
	page := viewing(t, "pyroscope+http://127.0.0.1:1")
	if status, text := fetch(t, page+"?format=text", ""); status != http.StatusInternalServerError || !strings.Contains(text, "http://127.0.0.1:1: Series: ") || !strings.Contains(text, "connect") {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestViewRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "name a SOURCE"},
		{[]string{"-listen", "0.0.0.0:0", profilesDir}, "-listen 0.0.0.0:0: others can reach this address"},
		{[]string{"-listen", "nowhere", profilesDir}, "-listen"},
		{[]string{"-max-bytes", "5", profilesDir}, "5 bytes are too few"},
		{[]string{profilesDir + "none"}, "none"},
		{[]string{"pyroscope+http://ann:secret@127.0.0.1:1"}, "SPANPROF_USER"},
		{[]string{"pyroscope+http://127.0.0.1:1", profilesDir}, "query= is missing"},
	} {
		code, stdout, stderr := spanprof(t, append([]string{"view"}, test.args...)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret") {
			t.Errorf("view %q: code %d, stdout %q, stderr %q, want %q", test.args, code, stdout, stderr, test.want)
		}
	}
}

// The command lists the spans of an earlier process, and counts unreadable files.
func TestViewOfDirectory(t *testing.T) {
	dir := t.TempDir()
	s, err := store.New(store.WithDirectory(dir, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	res := resource.NewSchemaless(otelattribute.String("service.name", "shop"), otelattribute.String("service.version", "v7"))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(res))
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	_, span := tp.Tracer("").Start(t.Context(), "GET /slow", trace.WithTimestamp(start))
	span.SetAttributes(otelattribute.String("http.route", "/slow/{id}"))
	span.End(trace.WithTimestamp(start.Add(3 * time.Second)))
	id := span.SpanContext().SpanID().String()
	p := readPGO(t, cpuFile(t, filepath.Join(t.TempDir(), "cpu.pprof"), "main.slow", "", 200))
	p.Sample[0].Label = map[string][]string{"profile_id": {id}, "span_id": {id}}
	w := exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second, Resource: res}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	damaged := writeFile(t, filepath.Join(dir, "segments-1-1-0", "000000", "spans.json.gz"), []byte("no gzip"))

	page := viewing(t, dir)
	for path, wants := range map[string][]string{
		"?format=text": {"GET /slow [earlier process]", "3.00 s", "2.00 s", "/slow/{id}", "1 file could not be read"},
		"?format=json": {`"fixed":true`, `"earlier":true`, `"coverage":"whole"`},
		"?format=text&query=.cpu%7Bprofile_id=%22" + id + "%22%7D": {"main.slow", "this span is of an earlier process"},
	} {
		status, body := fetch(t, page+path, "")
		for _, want := range wants {
			if status != 200 || !strings.Contains(strings.ReplaceAll(body, "\n         ", " "), want) {
				t.Errorf("%s: status %d, and no %q:\n%s", path, status, want, body)
			}
		}
	}
	if _, err := os.Stat(damaged); err != nil {
		t.Errorf("the command changed the directory: %v", err)
	}
}
