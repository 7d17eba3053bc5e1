// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spanprof/spanprof/internal/secrets"
)

// written writes a set as "key=value", with the name of the child.
func written(k *Keys, set []byte) (list []string) {
	for e := range k.All(string(set)) {
		switch {
		case e.More:
			list = append(list, "more")
		case e.OfChild:
			list = append(list, fmt.Sprintf("%s: %s=%s", e.Child, e.Key, e.Value))
		default:
			list = append(list, e.Key+"="+e.Value)
		}
	}
	return list
}

func sourceOf(s sdktrace.ReadOnlySpan) *Source {
	source := &Source{Name: s.Name(), Attributes: s.Attributes(), Exception: ExceptionOf(s.Events())}
	if s.Status().Code == codes.Error {
		source.Status = s.Status().Description
	}
	return source
}

func TestAppend(t *testing.T) {
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
		Status: sdktrace.Status{Code: codes.Error, Description: "out of stock"},
	}.Snapshot()
	own := []string{
		"http.route=/", "http.response.status_code=500", "query=sum(up)", "ratio=0.5", "on=true", `list=["a","b"]`,
		"exception.type=*net.OpError", "exception.message=refused",
	}
	if got := written(k, k.Append(nil, sourceOf(span), false)); !slices.Equal(got, own) {
		t.Errorf("got  %q\nwant %q", got, own)
	}
	var child []string
	for _, text := range own[:6] {
		child = append(child, "GET /: "+text)
	}
	child = append(child, "GET /: otel.status_description=out of stock", "GET /: "+own[6], "GET /: "+own[7])
	if got := written(k, k.Append(nil, sourceOf(span), true)); !slices.Equal(got, child) {
		t.Errorf("child: got  %q\nwant %q", got, child)
	}
	empty := tracetest.SpanStub{Name: "GET /", Attributes: []attribute.KeyValue{attribute.String("peer", "x")}}.Snapshot()
	if got := k.Append(nil, sourceOf(empty), true); len(got) != 0 {
		t.Errorf("a span without attributes to keep has %q", got)
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
		for _, child := range []bool{false, true} {
			set := k.Append(nil, sourceOf(tracetest.SpanStub{Name: long, Attributes: all}.Snapshot()), child)
			if len(set) > MaxOwn+1 {
				t.Errorf("%.10q takes %d bytes", value, len(set))
			}
			got := written(k, set)
			if len(got) < 2 || got[len(got)-1] != "more" {
				t.Errorf("%.10q: got %d entries, the last %.10q", value, len(got), got[len(got)-1])
			}
			for _, text := range got[:1] {
				if len(text) > MaxValue+200 || !strings.HasSuffix(text, ellipsis) || utf8.ValidString(value) && !utf8.ValidString(text) {
					t.Errorf("%.10q became %q", value, text)
				}
			}
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
		set := k.Append(nil, sourceOf(tracetest.SpanStub{Attributes: []attribute.KeyValue{attribute.String(tt.key, tt.value)}}.Snapshot()), false)
		if got, want := written(k, set), []string{tt.key + "=" + tt.want}; !slices.Equal(got, want) {
			t.Errorf("%s %s: got %q, want %q", tt.key, tt.value, got, want)
		}
	}
	number := k.Append(nil, sourceOf(tracetest.SpanStub{Attributes: []attribute.KeyValue{attribute.Int("app.api_key", 1234)}}.Snapshot()), false)
	if got := written(k, number); !slices.Equal(got, []string{"app.api_key=REDACTED"}) {
		t.Errorf("a number became %q", got)
	}
}

// Long lists are not written out to be cut.
func TestLongLists(t *testing.T) {
	const n = 1 << 20
	k := NewKeys([]string{"list"})
	for name, value := range map[string]attribute.Value{
		"bools":        attribute.BoolSliceValue(make([]bool, n)),
		"ints":         attribute.Int64SliceValue(make([]int64, n)),
		"floats":       attribute.Float64SliceValue(make([]float64, n)),
		"empty texts":  attribute.StringSliceValue(make([]string, n)),
		"a long text":  attribute.StringSliceValue([]string{"a", strings.Repeat("\x01", n)}),
		"a last text":  attribute.StringSliceValue([]string{strings.Repeat("x", MaxValue-3), "b", "c"}),
		"a whole list": attribute.StringSliceValue([]string{"a", "b"}),
	} {
		want := value.Emit() //nolint:staticcheck // As in Append.
		if len(want) > MaxValue {
			want = want[:MaxValue-len(ellipsis)] + ellipsis
		}
		set := k.Append(nil, sourceOf(tracetest.SpanStub{Attributes: []attribute.KeyValue{{Key: "list", Value: value}}}.Snapshot()), false)
		if got := written(k, set); !slices.Equal(got, []string{"list=" + want}) {
			t.Errorf("%s: got %.50q", name, got)
		}
		if list := start(value); len(list.Emit()) > 8*MaxValue { //nolint:staticcheck // As in Append.
			t.Errorf("%s: %d bytes are written to keep %d", name, len(list.Emit()), MaxValue) //nolint:staticcheck // As in Append.
		}
	}
}

// FuzzAppend holds what is read from a set against what was put in.
func FuzzAppend(f *testing.F) {
	f.Add("http.route", "/", "url.full", "https://a:b@c/?sig=1", "GET")
	f.Add("url.query", "sig", "http.target", strings.Repeat("&sig=", 500), "")
	k := NewKeys([]string{"query"})
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2, name string) {
		all := []attribute.KeyValue{attribute.String(key1, value1), attribute.String(key2, value2)}
		for _, child := range []bool{false, true} {
			set := k.Append(nil, sourceOf(tracetest.SpanStub{Name: name, Attributes: all}.Snapshot()), child)
			set = k.Append(set, sourceOf(tracetest.SpanStub{Name: name, Attributes: all[1:]}.Snapshot()), true)
			var keys []string
			for e := range k.All(string(set)) {
				if !e.More {
					keys = append(keys, e.Key)
				}
				if strings.Contains(e.Value, "sig=") && !strings.Contains(value1+value2, e.Value) && !strings.Contains(e.Value, secrets.Hidden) && !strings.HasSuffix(e.Value, ellipsis) {
					t.Errorf("value %q of %q and %q", e.Value, value1, value2)
				}
			}
			for _, a := range all {
				if k.number(string(a.Key)) != 0 && a.Value.AsString() != "" && !slices.Contains(keys, string(a.Key)) {
					t.Errorf("%q is missing among %q", a.Key, keys)
				}
			}
		}
	})
}
