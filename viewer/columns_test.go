// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

// However long what a program named is, the text forms fit into 100 columns. Only
// queries may be longer, for they are to be copied.
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
	h := Handler(s, WithStatus(func() Status { return Status{Running: true, Message: long} }))
	query := regexp.MustCompile(`^ *(query|baseline|also|version|whole process:)? .*\.[a-z_]+\{`)
	for _, address := range []string{
		"/?format=text",
		"/timeline?format=text",
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
			if n := utf8.RuneCountInString(line); n > textColumns && !query.MatchString(line) {
				t.Errorf("GET %s: %d columns: %s", address, n, line)
			}
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in              string
		n               int
		start, function string
	}{
		{"", 3, "", ""},
		{"été", 3, "été", "été"},
		{"étés", 3, "ét…", "…és"},
		{"étés", 1, "…", "…"},
	} {
		if got := clip(test.in, test.n); got != test.start {
			t.Errorf("clip(%q, %d) = %q", test.in, test.n, got)
		}
		if got := clipFunction(test.in, test.n); got != test.function {
			t.Errorf("clipFunction(%q, %d) = %q", test.in, test.n, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for in, want := range map[string][]string{
		"":                {""},
		"one two":         {"one two"},
		"one two three":   {"one two", "three"},
		"extraordinarily": {"extraor", "dinaril", "y"},
		"a extraordinary": {"a", "extraor", "dinary"},
	} {
		if got := wrap(in, 7); !slices.Equal(got, want) {
			t.Errorf("%q (-want +got):\n%s", in, cmp.Diff(want, got))
		}
	}
}

// What turns the direction of writing would turn that of the line after it.
func TestDirectionOfNames(t *testing.T) {
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if got := oneLine("a" + string(r) + "b"); got != "a\uFFFDb" {
			t.Errorf("%U became %q", r, got)
		}
	}
	if got := oneLine("שלום عالم"); got != "שלום عالم" {
		t.Errorf("got %q", got)
	}
}
