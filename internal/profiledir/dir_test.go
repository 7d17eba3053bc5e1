// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiledir_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/profiledir"
)

// A file makes room for those of its class and of greater ones.
func TestClasses(t *testing.T) {
	d := profiledir.New(t.TempDir(), 100, 0)
	d.Class = func(name string) int { return strings.Count(name, "+") }
	start := time.Now()
	write := func(name string, n int) error {
		start = start.Add(time.Second)
		return d.Write(name, start, make([]byte, n))
	}
	for _, name := range []string{"a++", "b", "c+", "d", "e"} {
		if err := write(name, 20); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want string) {
		t.Helper()
		var names []string
		var sum int64
		for _, f := range d.Files() {
			names, sum = append(names, f.Name), sum+f.Size
		}
		if got := strings.Join(names, " "); got != want || sum != d.Bytes() || sum != d.BytesOf(0)+d.BytesOf(1)+d.BytesOf(2) {
			t.Errorf("files %s, %d bytes of %d, want %s", got, sum, d.Bytes(), want)
		}
	}
	want("b d e c+ a++")
	if err := write("f", 60); err != nil {
		t.Fatal(err)
	}
	want("f c+ a++")
	tooLarge, ok := errors.AsType[*profiledir.TooLargeError](write("g", 61))
	if !ok || tooLarge.MaxBytes != 60 {
		t.Errorf("a file for which only those of other classes could make room: %v", tooLarge)
	}
	want("f c+ a++")
	if err := write("h++", 70); err != nil {
		t.Fatal(err)
	}
	want("a++ h++")
	if err := d.Remove(profiledir.File{Name: "a++"}); err != nil {
		t.Fatal(err)
	}
	d.Forget("h++")
	want("")
	if d.Removed != 6 {
		t.Errorf("%d files were removed, want 6", d.Removed)
	}
	for i := range 10 {
		d.Add(profiledir.File{Name: fmt.Sprint(i, strings.Repeat("+", i%3)), Start: start, Size: 1})
	}
	if !slices.IsSortedFunc(d.Files(), func(a, b profiledir.File) int { return d.Class(a.Name) - d.Class(b.Name) }) {
		t.Errorf("files %v, want those of class 0 first", d.Files())
	}
}
