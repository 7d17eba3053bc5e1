// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// A text has at most 40 lines of 100 columns, for names of any length. Only queries may be longer,
// for people copy them.
func TestLines(t *testing.T) {
	s := newStore(t, store.WithSpanAttributes("row"))
	for i := range 20 {
		newRequests(t, s, "shop", fmt.Sprint("GET /", i), 30)
	}
	exact, other := newExactSpan(t, s), newExactSpan(t, s)
	dir := "example.com/" + strings.Repeat("länge/", 40)
	b := newProfileBuilder()
	for i := range 100 {
		b.add(int64(i), nil, fmt.Sprint(dir, "main.f", i), "main.serve")
		b.add(1, labels(exact, "GET /exact"), fmt.Sprint(dir, "main.f", i), "main.serve")
		b.add(1, labels(other, "GET /exact"), fmt.Sprint(dir, "main.g", i), "main.serve")
	}
	for _, id := range []string{exact, other} {
		b.add(1, map[string][]string{"ended_span_id": {id}}, "main.later")
	}
	export(t, s, shop, exporter.KindCPU, b.profile)
	b.profile.SampleType[1].Type = "wall"
	export(t, s, shop, exporter.KindWall, b.profile)
	h := viewer.Handler(s, viewer.WithRunning(func() (all []viewer.Running) {
		for i := range 20 {
			stack := viewer.RunningStack{Goroutines: 1, Frames: make([]runtime.Frame, 30)}
			all = append(all, viewer.Running{ID: fmt.Sprint(i), Start: time.Now(), Stacks: []viewer.RunningStack{stack, {Goroutines: 1, Frames: stack.Frames[1:]}}})
		}
		return all
	}))
	all, slow, one := url.QueryEscape(".cpu{}"), url.QueryEscape(byID(exact)), url.QueryEscape(`.cpu{span_name="query"}`)
	query := regexp.MustCompile(`^ *(query|baseline|also|version|whole process:)? .*\.[a-z_]+\{|^ .* \?format=text&name=`)
	for address, next := range map[string]string{
		"/?": "?format=text&name=GET%20/0\n", "/?order=slowest": "?format=text&name=GET%20/0\n", "/?name=GET+/1": "?format=text&order=slowest&name=GET%20/1", "/names?": "set limit",
		"/?query=" + slow: "  other\n", "/comparison?leftQuery=" + slow + "&rightQuery=" + url.QueryEscape(byID(other)): "more functions",
		"/?query=" + all: "more functions", "/comparison?leftQuery=" + one + "&rightQuery=" + all: "more functions", "/running?": "  and 1 more stack\n\n19 more in JSON",
	} {
		text := get(t, h, address+"&format=text").Body.String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > termtext.Columns && !query.MatchString(line) {
				t.Errorf("%s: %d columns: %s", address, n, line)
			}
		}
		if n := strings.Count(text, "\n"); n < 10 || n > 40 || !strings.Contains(text, next) {
			t.Errorf("%s: %d lines, want at most 40 with %q:\n%s", address, n, next, text)
		}
	}
}

// newExactSpan returns the id of a span with many exact states, attributes and children.
func newExactSpan(t *testing.T, s *store.Store) string {
	t.Helper()
	tracer := newTracer(s, shop)
	ctx, span := tracer.Start(t.Context(), "GET /exact"+strings.Repeat("länge ", 100), trace.WithTimestamp(epoch))
	for i := range 10 {
		_, child := tracer.Start(ctx, "query"+strings.Repeat("länge ", 100), trace.WithTimestamp(epoch))
		child.SetAttributes(attribute.String("pyroscope.profile.id", "x"), attribute.Int("row", i))
		child.End(trace.WithTimestamp(epoch.Add(time.Second)))
	}
	span.SetStatus(codes.Error, "it failed"+strings.Repeat("länge ", 100))
	span.End(trace.WithTimestamp(epoch.Add(time.Second)))
	states, blockers := `{"state":"running","durationNs":500000000}`, `{"span":"a","spanId":"1","durationNs":1}`
	for i := range 20 {
		states += fmt.Sprintf(`,{"state":"a state with a long name %d","durationNs":%d}`, i, 60_000_000>>i)
		blockers += fmt.Sprintf(`,{"span":"b%d","spanId":"%[1]d","durationNs":1}`, i)
	}
	id := span.SpanContext().SpanID().String()
	times := `{"allocatedBytes":20000000,"goroutines":[{"id":7,"states":[` + states + `]}],"waits":[{"goroutine":7,"state":"a state with a long name 0","durationNs":9,"blockers":[` + blockers + `]}]}`
	if err := s.AddExactTimes(id, json.RawMessage(times)); err != nil {
		t.Fatal(err)
	}
	return id
}
