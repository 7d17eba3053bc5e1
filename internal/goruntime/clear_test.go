// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"testing"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// ClearLabels removes inherited labels and marks that in an execution trace.
func TestClearLabels(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("an execution trace is on already") // go test -trace
	}
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	pprof.Do(t.Context(), pprof.Labels("span_id", "0123456789abcdef"), func(context.Context) {
		done := make(chan string)
		go func() {
			goruntime.ClearLabels()
			var goroutines bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&goroutines, 1)
			done <- goroutines.String()
		}()
		if n := bytes.Count([]byte(<-done), []byte("0123456789abcdef")); n != 1 {
			t.Errorf("%d goroutines have the label, want the one that waits", n)
		}
	})
	trace.Stop()
	if !bytes.Contains(out.Bytes(), []byte(goruntime.TraceMarkLabel)) {
		t.Errorf("the trace has no mark %q", goruntime.TraceMarkLabel)
	}
}
