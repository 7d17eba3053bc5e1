// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"fmt"
	"sync"
	"testing"
)

func TestSpanNames(t *testing.T) {
	names := newSpanNames(3, 3)
	for _, test := range []struct{ name, want string }{
		{"", ""},
		{"abcd", "abc"},
		{"aéé", "aé"}, // not half of a rune
		{"a\xff\xfe", "a?"},
		{"new", otherSpanName},
		{"abc", "abc"},
		{"", ""},
		{"\x80\x80\x80\x80", ""}, // not one rune begins within the limit
		{"日本", otherSpanName},
	} {
		if got := names.label(test.name); got != test.want {
			t.Errorf("label(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSpanNamesConcurrently(t *testing.T) {
	const most = 10
	names := newSpanNames(most, 128)
	var labels sync.Map
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range 100 {
				labels.Store(names.label(fmt.Sprint(i)), true)
			}
		})
	}
	wait.Wait()
	n := 0
	labels.Range(func(any, any) bool { n++; return true })
	if n != most+1 {
		t.Errorf("got %d labels, want %d and %q", n, most, otherSpanName)
	}
}
