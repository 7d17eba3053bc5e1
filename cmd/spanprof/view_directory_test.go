// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
