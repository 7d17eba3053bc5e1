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

// Register does not keep providers alive.
func TestRegister(t *testing.T) {
	kept := &Provider{NoProfileID: true}
	Register(kept)
	for range 1000 {
		Register(&Provider{})
	}
	for deadline := time.Now().Add(time.Minute); len(Providers()) != 1; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatalf("%d providers, want 1", len(Providers()))
		}
	}
	if !slices.Contains(Providers(), kept) {
		t.Error("the provider that is kept is missing")
	}
	runtime.KeepAlive(kept)
}
