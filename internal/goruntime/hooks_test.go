// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build (386 || amd64 || arm64) && !spanprof_public

package goruntime

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestRuntimeIsAsExpected fails where a Go release has changed what labels rely on.
func TestRuntimeIsAsExpected(t *testing.T) {
	if err := Unknown(); err != nil {
		t.Error(err)
	}
}

// A label set of another layout is noticed.
func TestVerifyLayout(t *testing.T) {
	for _, test := range []struct {
		made any
		want bool
	}{
		{new(LabelSet), true},
		{new(struct {
			Set struct{ List []struct{ K, V string } }
		}), true},
		{new([]Label), true}, // a struct of one field lies in memory as the field does
		{nil, false},
		{LabelSet{}, false}, // not a pointer
		{new(map[string]string), false},
		{new(struct{ list []string }), false},
		{new(struct{ list []struct{ k, v, w string } }), false},
		{new(struct {
			list []struct {
				k string
				v int
			}
		}), false},
		{new(struct {
			hash uint64
			list []Label
		}), false},
		{new(struct{ list *[]Label }), false},
	} {
		if err := verifyLayout(test.made); (err == nil) != test.want {
			t.Errorf("a label set of type %v: %v", reflect.TypeOf(test.made), err)
		}
	}
}

func TestFrames(t *testing.T) {
	pcs := make([]uintptr, 1)
	runtime.Callers(1, pcs)
	symbols := NewSymbols()
	frames := symbols.Frames(pcs)
	if len(frames) != 1 || !strings.HasSuffix(frames[0].Function, ".TestFrames") || !strings.HasSuffix(frames[0].File, "hooks_test.go") ||
		frames[0].StartLine <= 0 || frames[0].Line <= frames[0].StartLine {
		t.Errorf("%+v, want a line of this function", frames)
	}
	if got := symbols.Frames([]uintptr{1}); len(got) != 0 {
		t.Errorf("%+v at an address without code", got)
	}
}
