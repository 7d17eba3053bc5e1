// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package goruntime

import (
	"runtime"
	"strings"
	"testing"
)

// TestRuntimeIsKnown fails where a Go version of the build constraint has changed.
func TestRuntimeIsKnown(t *testing.T) {
	if !Known() {
		t.Error("label sets have another layout")
	}
}

func TestFrames(t *testing.T) {
	pcs := make([]uintptr, 1)
	runtime.Callers(1, pcs)
	symbols := NewSymbols()
	frames := symbols.Frames(pcs)
	if len(frames) != 1 || !strings.HasSuffix(frames[0].Function, ".TestFrames") || !strings.HasSuffix(frames[0].File, "known_test.go") ||
		frames[0].StartLine <= 0 || frames[0].Line <= frames[0].StartLine {
		t.Errorf("%+v, want a line of this function", frames)
	}
	if got := symbols.Frames([]uintptr{1}); len(got) != 0 {
		t.Errorf("%+v at an address without code", got)
	}
}
