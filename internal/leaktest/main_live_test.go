// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package leaktest

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

func TestFindWaitsForSlowGoroutines(t *testing.T) {
	end := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-end
	}()
	if err := find(0); err == nil {
		t.Fatal("find reports no goroutine, want the one that waits")
	}
	// goleak itself gives up after half a second.
	time.AfterFunc(time.Second, func() { close(end) })
	if err := find(patience); err != nil {
		t.Fatalf("find = %v, want nil once the goroutine has ended", err)
	}
	<-done
}
