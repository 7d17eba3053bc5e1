// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"testing"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

// Exact times that have no room by themselves do not push out others first.
func TestExactTooLarge(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 18, Fraction: 1, Keys: attributes.NewKeys(nil)})
	tracer := newTracer(l)
	_, first := tracer.Start(t.Context(), "first", at(0))
	first.End(at(1))
	_, second := tracer.Start(t.Context(), "second", at(0))
	second.End(at(1))
	if !l.SetExact(keyOf(first), []byte("{}")) {
		t.Fatal("the first span has no room")
	}
	if l.SetExact(keyOf(second), make([]byte, l.maxBytes/exactShare)) {
		t.Error("exact times as large as those of all spans may be are kept")
	}
	if id, ok := l.indexed(keyOf(first)); !ok || l.row(id).exact == 0 {
		t.Error("they pushed out those of another span")
	}
}
