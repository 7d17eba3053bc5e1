// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flameql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/flameql"
)

func TestParse(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{``, `.cpu{}`},
		{`{}`, `.cpu{}`},
		{`cpu`, `.cpu{}`},
		{`.cpu`, `.cpu{}`},
		{`shop`, `shop.cpu{}`},
		{`shop.cpu`, `shop.cpu{}`},
		{`my.shop.v2.cpu{}`, `my.shop.v2.cpu{}`},
		{`my shop.alloc_space{}`, `my shop.alloc_space{}`},
		{`inuse_space`, `.inuse_space{}`},
		{`shop.wall{span_name="GET /search"}`, `shop.wall{span_name="GET /search"}`},
		{`shop.cpu{profile_id="a1"}`, `shop.cpu{profile_id="a1"}`},
		{` shop.cpu { a = "1" , b != "2", c =~ "x.*" , d !~ "y|z" , } `, `shop.cpu{a="1",b!="2",c=~"x.*",d!~"y|z"}`},
		{"{span_name=`GET \"/x\"`}", `.cpu{span_name="GET \"/x\""}`},
		{`{span_name="{\"a\": [1,2]}"}`, `.cpu{span_name="{\"a\": [1,2]}"}`},
		{`{profile_id=~"a|b",span_id=~"a|b",trace_id=~"a|b",span_id=~"a.*"}`, `.cpu{profile_id=~"a|b",span_id=~"a|b",trace_id=~"a|b",span_id=~"a.*"}`},
		{`shop.cpu{span.http.route="/a", span.db.query.text!~"SELECT .*"}`, `shop.cpu{span.http.route="/a",span.db.query.text!~"SELECT .*"}`},
		{`.goroutines`, `.goroutine{}`},
		{`a=b{}`, `a=b.cpu{}`},
		{`{http.route="/a",user-id="7"}`, `.cpu{http.route="/a",user-id="7"}`},
	} {
		q, err := flameql.Parse(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if got := q.String(); got != test.want {
			t.Errorf("%q: got %s, want %s", test.in, got, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct {
		in     string
		column int
		msg    string
	}{
		{`shop.cpu{id=abc}`, 13, "expected a value in double quotes or backquotes"},
		{`shop.cpu{id}`, 12, "expected one of = != =~ !~"},
		{`shop.cpu{`, 10, "expected a label name"},
		{`shop.cpu{="x"}`, 10, "expected a label name"},
		{`shop.cpu{a="x" b="y"}`, 16, `expected "," or "}"`},
		{`shop.cpu{a="x"`, 15, `expected "," or "}"`},
		{`shop.cpu{a="x}`, 12, "does not end"},
		{`shop.cpu{a="\q"}`, 12, "unknown escape"},
		{`shop.cpu{a=~"("}`, 13, "missing closing )"},
		{`shop.cpu{a="x"}}`, 16, "expected the end of the query"},
		{`shop.cpu{a="é",b}`, 17, "expected one of"},
		{`{` + strings.Repeat(`a!="b",`, 33) + `}`, 2 + 32*7, "at most 32 conditions"},
		{`{a="` + strings.Repeat("x", 16<<10) + `"}`, 16<<10 + 1, "at most 16384 bytes, this one 16390"},
		{`shop.cpuprofile_id="00f067aa0ba902b7"`, 1, "curl removes { and }: use -g or --data-urlencode"},
		{"span_name!=`op`", 1, "conditions are in braces"},
		{`process_cpu:samples:count:cpu:nanoseconds{}`, 1, "unknown profile type \"process_cpu:samples:count:cpu:nanoseconds\": the name must end in"},
		{`shop.gpu{}`, 6, `unknown profile type "gpu": the name must end in one of .cpu, .wall, .host`},
	} {
		_, err := flameql.Parse(test.in)
		syntax, ok := errors.AsType[*flameql.SyntaxError](err)
		if !ok {
			t.Errorf("%q: error %v, want a syntax error", test.in, err)
			continue
		}
		if syntax.Column != test.column || !strings.Contains(err.Error(), test.msg) {
			t.Errorf("%q: got %v, want column %d: %s", test.in, err, test.column, test.msg)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{``, `{}`, `a.b.cpu{x="y"}`, `.inuse_space{a=~"b|c",d!="e"}`, "{a=`b`}", `shop.cpu{id=abc}`, `{a!~"("}`, ". .cpu{\x00=\"\\xff\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		q, err := flameql.Parse(in)
		if err != nil {
			syntax, ok := errors.AsType[*flameql.SyntaxError](err)
			if !ok || syntax.Column < 1 || syntax.Column > len(in)+1 {
				t.Fatalf("%q: error %v has no column within the query", in, err)
			}
			return
		}
		if len(q.String()) > flameql.MaxBytes {
			t.Skip("with its escapes the canonical form is too long")
		}
		again, err := flameql.Parse(q.String())
		if err != nil {
			t.Fatalf("%q: its canonical form %s: %v", in, q, err)
		}
		if again.String() != q.String() || again.App != q.App || again.Type != q.Type || len(again.Matchers) != len(q.Matchers) {
			t.Fatalf("%q: %s became %s", in, q, again)
		}
		for i, m := range q.Matchers {
			n := again.Matchers[i]
			if n.Label() != m.Label() || n.Op() != m.Op() || n.Value() != m.Value() {
				t.Fatalf("%q: matcher %d of %s became %s", in, i, q, again)
			}
		}
	})
}
