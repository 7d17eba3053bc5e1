// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/viewer"
)

// The text forms fit into 100 columns, however long the names are. Only queries may be
// longer, for people copy them.
func TestTextFitsIntoColumns(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("länge ", 100) + strings.Repeat("x", 200)
	res := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", "1.0"))
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	ctx, root := tp.Tracer("test").Start(t.Context(), long)
	root.SetStatus(codes.Error, long)
	_, child := tp.Tracer("test").Start(ctx, "child "+long)
	id, childID := root.SpanContext().SpanID().String(), child.SpanContext().SpanID().String()
	child.SetAttributes(attribute.String("pyroscope.profile.id", childID))
	child.End()
	root.End()
	for day := range 2 {
		b := newProfileBuilder()
		var stack []string
		for i := range 60 {
			stack = append(stack, fmt.Sprintf("example.com/%s/pkg.(*T).method%d", strings.Repeat("dir/", 40), i))
		}
		for i := range 40 {
			b.add(int64(i+1), labels(id, long[:100]), stack[i:]...)
		}
		b.add(3, labels(childID, "child"), stack[10], stack[30])
		b.add(1, map[string][]string{"profile_id": {"nightly report"}}, stack[7])
		window := exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(day) * 24 * time.Hour), Duration: 10 * time.Second, Resource: res}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, b.profile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Export(t.Context(), exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Resource: res}, []byte("no profile"))); err == nil {
		t.Error("no error for what is no profile")
	}
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true, Message: long} }))
	query := regexp.MustCompile(`^ *(query|baseline|also|version|whole process:)? .*\.[a-z_]+\{|^ .* \?format=text&name=`)
	for _, address := range []string{
		"/?format=text",
		"/log?format=text",
		target("/", "query", byID(id), "format", "text"),
		target("/", "query", byID("none"), "format", "text"),
		target("/", "query", ".cpu", "format", "text"),
		target("/", "query", ".mutex_count", "format", "text"),
		target("/", "query", byID(id), "function", fmt.Sprintf("example.com/%s/pkg.(*T).method20", strings.Repeat("dir/", 40)), "format", "text"),
		target("/comparison", "leftQuery", ".cpu", "rightQuery", byID(id), "format", "text"),
	} {
		text := get(t, h, address).Body.String()
		if strings.Count(text, "\n") < 4 {
			t.Errorf("GET %s:\n%s", address, text)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > termtext.Columns && !query.MatchString(line) {
				t.Errorf("GET %s: %d columns: %s", address, n, line)
			}
		}
	}
}
