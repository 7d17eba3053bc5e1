// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import "testing"

func TestFind(t *testing.T) {
	names := map[string]struct{}{}
	for _, name := range []string{
		"main.main", "main.serve", "main.(*Cart).Add", "main.Map[go.shape.int,go.shape.string]", "main.Map[go.shape.int,go.shape.string].func1",
		"main.walk", "main.walk-range1", "example.com/shop/v2/cart.(*Cart).Add", "example.com/shop/v3.Open",
		"gopkg.in/yaml%2ev3.Unmarshal", "vendor/golang.org/x/text/norm.iterate", "example.com/a/log.Print", "example.com/b/log.Print",
		"example.com/list.(*List[go.shape.[]example.com/x.T]).Push",
	} {
		names[name] = struct{}{}
	}
	f := newFunctions(names)
	for _, test := range []struct {
		name string
		ok   bool
		why  Reason
		now  string
	}{
		{"main.main", true, 0, ""},
		{"main.absent", false, Gone, ""},
		{"main.Map[go.shape.int,go.shape.string]", true, 0, ""},
		{"main.Map[...]", true, Instance, "main.Map[...]"}, // as profilers write it that drop types
		{"main.Map[go.shape.float64,go.shape.string]", false, Instance, "main.Map[...]"},
		{"main.Map[go.shape.float64,go.shape.string].func1", false, Instance, "main.Map[...].func1"},
		{"main.Map[go.shape.int,go.shape.string].func2", false, Closure, "main.Map[...]"},
		{"main.serve.func1", false, Closure, "main.serve"},
		{"main.serve.func1.2", false, Closure, "main.serve"},
		{"main.serve.gowrap1", false, Closure, "main.serve"},
		{"main.serve.inlined.func3", false, Closure, "main.serve"},
		{"main.serve.(*Cart).Add.func3", false, Closure, "main.serve"},
		{"main.(*Cart).Add-fm", false, Closure, "main.(*Cart).Add"},
		{"main.walk-range1", true, 0, ""},
		{"main.walk-range2", false, Closure, "main.walk"},
		{"main.absent.func1", false, Gone, ""},
		{"main.glob..func1", false, Gone, ""},
		{"example.com/shop/cart.(*Cart).Add", false, Moved, "example.com/shop/v2/cart.(*Cart).Add"},
		{"example.com/shop/v2.Open", false, Moved, "example.com/shop/v3.Open"},
		{"example.com/shop.Open", false, Moved, "example.com/shop/v3.Open"},
		{"gopkg.in/yaml%2ev2.Unmarshal", false, Moved, "gopkg.in/yaml%2ev3.Unmarshal"},
		{"golang.org/x/text/norm.iterate", false, Moved, "vendor/golang.org/x/text/norm.iterate"},
		{"example.com/c/log.Print", false, Gone, ""}, // two could be it
		{"example.com/list.(*List[go.shape.int]).Push", false, Instance, "example.com/list.(*List[...]).Push"},
		{"", false, Gone, ""},
		{"[", false, Gone, ""},
		{"/", false, Gone, ""},
		{"v2.x", false, Gone, ""},
		{".func1", false, Gone, ""},
	} {
		ok, why, now := f.find(test.name)
		if ok != test.ok || !ok && (why != test.why || now != test.now) {
			t.Errorf("%s: got %v %q %q, want %v %q %q", test.name, ok, why, now, test.ok, test.why, test.now)
		}
	}
}

func FuzzFind(f *testing.F) {
	functions := newFunctions(map[string]struct{}{"main.f[go.shape.int].func1": {}, "a/v2.b": {}})
	for _, name := range []string{"main.f[go.shape.int].func1", "a/v2.b", "/v2.", "a[/].b", "[", "x.func1.2-fm"} {
		f.Add(name)
	}
	f.Fuzz(func(_ *testing.T, name string) {
		functions.find(name)
		newFunctions(map[string]struct{}{name: {}})
	})
}
