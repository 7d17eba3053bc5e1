// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package labelfacts_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/labelfacts"
)

// What nothing refers to any more is none of the labellers, and takes no room.
func TestRegisterKeepsNothing(t *testing.T) {
	kept := &labelfacts.Labeller{MaxNames: 1}
	labelfacts.Register(kept)
	for range 10_000 {
		labelfacts.Register(&labelfacts.Labeller{MaxNames: 2})
	}
	runtime.GC()
	all := labelfacts.All()
	if !slices.Contains(all, kept) {
		t.Error("the one that is kept is missing")
	}
	if n := len(all); n > 2 {
		t.Errorf("%d labellers, want 1", n)
	}
	runtime.KeepAlive(kept)
}

// While there is a labeller that gives every span a profile, and no longer, spans have one.
func TestEverySpan(t *testing.T) {
	labelfacts.Register(&labelfacts.Labeller{EverySpan: true, Disabled: true})
	labelfacts.Register(&labelfacts.Labeller{NoProfileID: true})
	if labelfacts.EverySpan(true) {
		t.Error("every span has a profile, and no labeller says so")
	}
	for _, recordOnly := range []bool{false, true} {
		l := &labelfacts.Labeller{EverySpan: true, RecordOnly: recordOnly}
		labelfacts.Register(l)
		if sampled, recorded := labelfacts.EverySpan(true), labelfacts.EverySpan(false); !sampled || recorded != recordOnly {
			t.Errorf("RecordOnly %t: sampled spans %t, others %t", recordOnly, sampled, recorded)
		}
		runtime.KeepAlive(l)
		for deadline := time.Now().Add(time.Minute); labelfacts.EverySpan(true); runtime.Gosched() {
			if runtime.GC(); time.Now().After(deadline) {
				t.Fatal("the labeller is gone, and every span has a profile still")
			}
		}
	}
}
