// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// A span waits twice in one line for a goroutine, which works first for one span and then
// for another. It has one wait for each of these spans.
func TestWaitsForSpansOfAGoroutine(t *testing.T) {
	names := []string{"refresh", "report"}
	a := analyzed(t, func() {
		var mu sync.Mutex
		held, got := make(chan struct{}), make(chan struct{})
		go func() {
			for _, name := range names {
				_, end := begin(name)
				mu.Lock()
				held <- struct{}{}
				for timeout := time.Now().Add(deadline); !waitsInLock(t); time.Sleep(time.Millisecond) {
					if time.Now().After(timeout) {
						t.Error("nothing waits for the lock")
						break
					}
				}
				mu.Unlock()
				end()
				<-got
			}
		}()
		_, end := begin("slow")
		for range names {
			<-held
			lock(&mu)
			mu.Unlock()
			got <- struct{}{}
		}
		end()
	})
	var blockers []string
	for _, w := range find(t, a, "slow").Waits {
		if w.State != "mutex" {
			continue
		}
		if w.Count != 1 || len(w.Blockers) == 0 {
			t.Errorf("%d waits with %d blockers, want one that somebody ended", w.Count, len(w.Blockers))
			continue
		}
		blockers = append(blockers, w.Blockers[0].Span)
	}
	slices.Sort(blockers)
	if !slices.Equal(blockers, names) {
		t.Errorf("it waited for %q, want %q", blockers, names)
	}
}
