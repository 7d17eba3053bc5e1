// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spanprof/spanprof/internal/secrets"
)

// written writes a set as "key=value".
func written(k *Keys, set string) (list []string) {
	for e := range k.All(set) {
		if e.More {
			list = append(list, "more")
		} else {
			list = append(list, e.Key+"="+e.Value)
		}
	}
	return list
}

// setOf returns the set of a span.
func setOf(k *Keys, s tracetest.SpanStub, status string) string {
	return string(k.Append(nil, s.Attributes, status, s.Events))
}

// of returns the set of a value.
func of(k *Keys, key string, value attribute.Value) string {
	return string(k.Append(nil, []attribute.KeyValue{{Key: attribute.Key(key), Value: value}}, "", nil))
}

func TestSet(t *testing.T) {
	k := NewKeys([]string{"query", "http.route", "tenant", "ratio", "on", "list"})
	span := tracetest.SpanStub{
		Name: "GET /",
		Attributes: []attribute.KeyValue{
			attribute.String("user_agent.original", "curl"),
			attribute.String("http.route", "/"),
			attribute.Int("http.response.status_code", 500),
			attribute.String("query", "sum(up)"),
			attribute.Float64("ratio", 0.5),
			attribute.Bool("on", true),
			attribute.StringSlice("list", []string{"a", "b"}),
			attribute.String("tenant", ""),
		},
		Events: []sdktrace.Event{
			{Name: "retry", Attributes: []attribute.KeyValue{attribute.String("exception.type", "no")}},
			{Name: "exception", Attributes: []attribute.KeyValue{
				attribute.String("exception.type", "*net.OpError"), attribute.String("exception.message", "refused"), attribute.String("exception.stacktrace", "main.go"),
			}},
			{Name: "exception", Attributes: []attribute.KeyValue{attribute.String("exception.type", "second")}},
		},
	}
	own := []string{
		"http.route=/", "http.response.status_code=500", "query=sum(up)", "ratio=0.5", "on=true", "list=a, b",
		"exception.type=*net.OpError", "exception.message=refused",
	}
	set := setOf(k, span, "")
	if got := written(k, set); !slices.Equal(got, own) {
		t.Errorf("got  %q\nwant %q", got, own)
	}
	if again := k.Restore(slices.Collect(k.All(set))); again != set {
		t.Errorf("restored: got %q, want %q", again, set)
	}
	child := slices.Insert(slices.Clone(own), 6, "otel.status_description=out of stock")
	if got := written(k, setOf(k, span, "out of stock")); !slices.Equal(got, child) {
		t.Errorf("with a status: got  %q\nwant %q", got, child)
	}
	if got := of(k, "peer", attribute.StringValue("x")); got != "" {
		t.Errorf("a span without attributes to keep has %q", got)
	}
	few := []sdktrace.Event{{Name: "exception", Attributes: make([]attribute.KeyValue, MaxSeen+1)}}
	for name, set := range map[string]string{
		"attributes": string(k.Append(nil, make([]attribute.KeyValue, MaxSeen+1), "", nil)), "events": string(k.Append(nil, nil, "", make([]sdktrace.Event, MaxSeen+1))), "those of an exception": string(k.Append(nil, nil, "", few)),
	} {
		if got := written(k, set); !slices.Equal(got, []string{"more"}) {
			t.Errorf("%s that are not looked at: %q", name, got)
		}
	}
}

// A set has bounds, whatever a span has; what is cut is marked and no part of a rune is
// left.
func TestBounds(t *testing.T) {
	k := NewKeys(nil)
	long := strings.Repeat("é", 5000)
	for _, value := range []string{long, "x" + long, strings.Repeat("\xff", 5000), "a=" + strings.Repeat("&", 5000), strings.Repeat("sig=1&", 2000)} {
		var all []attribute.KeyValue
		for _, name := range k.names {
			all = append(all, attribute.String(name, value))
		}
		set := string(k.Append(nil, all, "", nil))
		if len(set) > maxSet+1 {
			t.Errorf("%.10q takes %d bytes", value, len(set))
		}
		got := written(k, set)
		if len(got) < 2 || got[len(got)-1] != "more" {
			t.Errorf("%.10q: got %d entries, the last %.10q", value, len(got), got[len(got)-1])
		}
		if text := got[0]; len(text) > MaxValue+200 || !strings.HasSuffix(text, ellipsis) || utf8.ValidString(value) && !utf8.ValidString(text) {
			t.Errorf("%.10q became %q", value, text)
		}
	}
}

// The key decides how secrets are found.
func TestRedacted(t *testing.T) {
	k := NewKeys([]string{"own", "http.request.header.authorization", "http.request.header.cookie", "app.api_key", "sort_key", "error.code"})
	for _, tt := range []struct{ key, value, want string }{
		{"url.query", "code=abcdef&sort_key=a", "code=REDACTED&sort_key=a"},
		{"own", "token=a at https://u:p@host", "token=REDACTED at https://REDACTED:REDACTED@host"},
		{"http.target", "/a?Signature=x", "/a?Signature=REDACTED"},
		{"exception.message", "password=x", "password=REDACTED"},
		{"otel.status_description", "Bearer x1", "Bearer REDACTED"},
		{"db.query.text", "SELECT 1", "SELECT ?"},
		{"db.statement", "SELECT 'a'", "SELECT ?"},
		{"graphql.document", `{ a(b: "c") }`, "{ a(b: ?) }"},
		{"http.request.header.authorization", "x", "REDACTED"},
		{"http.request.header.cookie", `["a=b"]`, "REDACTED"},
		{"app.api_key", "x", "REDACTED"},
		{"sort_key", "a1", "a1"},
		{"error.code", "abcdef", "abcdef"},
		{"url.query", "sig=" + strings.Repeat("u", 2*maxScan) + "&a=b", "sig=REDACTED" + ellipsis},
	} {
		set := of(k, tt.key, attribute.StringValue(tt.value))
		if got, want := written(k, set), []string{tt.key + "=" + tt.want}; !slices.Equal(got, want) {
			t.Errorf("%s %s: got %q, want %q", tt.key, tt.value, got, want)
		}
	}
	for _, value := range []attribute.Value{attribute.IntValue(1234), attribute.StringSliceValue([]string{"a", "b"})} {
		if got := written(k, of(k, "app.api_key", value)); !slices.Equal(got, []string{"app.api_key=REDACTED"}) {
			t.Errorf("%v became %q", value.Type(), got)
		}
	}
	list := of(k, "own", attribute.StringSliceValue([]string{"a", "token=a"}))
	if got := written(k, list); !slices.Equal(got, []string{"own=a, token=REDACTED"}) {
		t.Errorf("a list became %q", got)
	}
}

// Long lists are not written out to be cut, and lists of numbers count as left out.
func TestLists(t *testing.T) {
	k := NewKeys([]string{"list"})
	long := strings.Repeat("x", 1<<20)
	for _, texts := range [][]string{make([]string, 1<<20), {"a", long}, slices.Repeat([]string{long}, 1000)} {
		value := attribute.StringSliceValue(texts)
		if got := testing.AllocsPerRun(1, func() { of(k, "list", value) }); got > 20 {
			t.Errorf("%d texts take %v allocations", len(texts), got)
		}
		if got := written(k, of(k, "list", value)); len(got) != 1 || !strings.HasSuffix(got[0], ellipsis) {
			t.Errorf("got %.50q", got)
		}
	}
	if got := written(k, of(k, "list", attribute.Int64SliceValue([]int64{1}))); !slices.Equal(got, []string{"more"}) {
		t.Errorf("numbers became %q", got)
	}
}

// FuzzSet holds what is read from a set against what was put in.
func FuzzSet(f *testing.F) {
	f.Add("http.route", "/", "url.full", "https://a:b@c/?sig=1", "GET")
	f.Add("url.query", "sig", "http.target", strings.Repeat("&sig=", 500), "")
	k := NewKeys([]string{"query"})
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2, status string) {
		all := []attribute.KeyValue{attribute.String(key1, value1), attribute.String(key2, value2)}
		var keys []string
		for e := range k.All(string(k.Append(nil, all, status, nil))) {
			if !e.More {
				keys = append(keys, e.Key)
			}
			if strings.Contains(e.Value, "sig=") && !strings.Contains(value1+value2+status, e.Value) && !strings.Contains(e.Value, secrets.Hidden) && !strings.HasSuffix(e.Value, ellipsis) {
				t.Errorf("value %q of %q and %q", e.Value, value1, value2)
			}
		}
		for _, a := range all {
			if k.numbers[string(a.Key)] != 0 && a.Value.AsString() != "" && !slices.Contains(keys, string(a.Key)) {
				t.Errorf("%q is missing among %q", a.Key, keys)
			}
		}
	})
}
