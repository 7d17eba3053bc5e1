// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanlabels

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// Register does not keep providers alive, and EverySpan is true while one has it.
func TestRegister(t *testing.T) {
	kept := &Provider{NoProfileID: true}
	Register(kept)
	Register(&Provider{EverySpan: true, Disabled: true})
	if EverySpan() {
		t.Error("EverySpan is true of a disabled provider")
	}
	every := &Provider{EverySpan: true}
	Register(every)
	if !EverySpan() {
		t.Error("EverySpan is false")
	}
	runtime.KeepAlive(every)
	for range 1000 {
		Register(&Provider{})
	}
	for deadline := time.Now().Add(time.Minute); EverySpan() || len(Providers()) != 1; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatalf("EverySpan %t and %d providers, want 1", EverySpan(), len(Providers()))
		}
	}
	if !slices.Contains(Providers(), kept) {
		t.Error("the provider that is kept is missing")
	}
	runtime.KeepAlive(kept)
}
