// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package linkurl

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestImage compares the URLs of an image with those of its templates.
func TestImage(t *testing.T) {
	template := func(text string) *Template {
		parsed, err := Parse("option", text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Bind("shop")
	}
	var page Template
	page.Add("http://localhost:4040/?query=", Baseline, BaselineStart)
	page.Add("&", Start, End, SpanID)
	templates := []*Template{
		page.Bind("shop"),
		template("https://p.example/{service}/{span_name}?s={span_id}&t={trace_id}&f={from_s},{from_ms},{from_ns}&w={window_from_s},{window_to_ms},{to_ns}#end"),
		template("https://p.example/"),
	}
	span := func(id, trace byte, start time.Time) *Span {
		s := &Span{ID: strings.Repeat(string(id), idLen), TraceID: strings.Repeat(string(trace), traceIDLen), Name: "GET%20%2F", Baseline: "shop.cpu%7B%7D"}
		s.SetTimes(start, start.Add(time.Second))
		return s
	}
	usual := time.Unix(1_800_000_000, 123_456_789)
	image := NewImage(templates, span('a', 'b', usual))
	for _, test := range []struct {
		s  *Span
		ok bool
	}{
		{span('c', 'd', usual.Add(1000*time.Hour)), true},
		{span('a', 'b', usual), true},
		{span('c', 'd', time.Unix(1, 0)), false},
		{span('c', 'd', time.Unix(1_000_000_001, 0)), false}, // the baseline starts with a digit less
		{&Span{ID: "short", TraceID: "too"}, false},
	} {
		text, ok := image.Text(test.s)
		if ok != test.ok {
			t.Errorf("%+v: %t", test.s, ok)
		}
		if !ok {
			continue
		}
		var want strings.Builder
		var ends []int
		for _, template := range templates {
			template.Write(&want, test.s)
			ends = append(ends, want.Len())
		}
		if text != want.String() || !slices.Equal(image.Ends(), ends) {
			t.Errorf("got  %s %v\nwant %s %v", text, image.Ends(), want.String(), ends)
		}
	}
	// An image of a time with fewer digits is no use, and does no harm.
	if text, ok := NewImage(templates, span('a', 'b', time.Unix(1, 0))).Text(span('a', 'b', usual)); ok {
		t.Errorf("got %s", text)
	}
	if text, ok := NewImage(nil, span('a', 'b', usual)).Text(span('a', 'b', usual)); !ok || text != "" {
		t.Errorf("of no URLs: %q, %t", text, ok)
	}
}
