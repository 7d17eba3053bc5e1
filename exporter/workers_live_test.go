// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// noWorkers waits until no lane has a goroutine. A Shutdown that has given up leaves the worker
// at its last file. Until it ends the directory must not be read or removed.
func noWorkers(t *testing.T) {
	t.Helper()
	for d := time.Millisecond; ; d *= 2 {
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stacks.String(), "exporter.(*lane)") {
			return
		}
		if d > 20*time.Second {
			t.Fatalf("a queue works on:\n%s", &stacks)
		}
		<-time.After(d)
	}
}
