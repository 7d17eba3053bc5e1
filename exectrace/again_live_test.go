// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// tries is how many recordings a test makes where the runtime writes them badly.
const tries = 3

// readable analyzes a recording of the runtime of Go. It returns nil for one that the runtime
// wrote badly, as that of Go 1.26.8 rarely does on a busy machine ("expected a proc but didn't
// have one"): the test makes another one. What the reader of package timeline finds wrong
// itself, a gap or a panic, fails at once, as every other error does.
func readable(t *testing.T, recording []byte, options ...exectrace.AnalyzeOption) *exectrace.Analysis {
	t.Helper()
	a, err := exectrace.Analyze(bytes.NewReader(recording), options...)
	if _, ok := errors.AsType[*exectrace.ParseError](err); ok && !errors.Is(err, timeline.ErrGap) && !errors.Is(err, timeline.ErrPanic) {
		t.Logf("THE RUNTIME WROTE A RECORDING BADLY, of %d bytes: %v", len(recording), err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, a)
	return a
}

// again runs a test until it returns true. It returns false where it did not come to test
// anything, as a recording was not readable, or something came in between.
func again(t *testing.T, test func(t *testing.T) bool) {
	t.Helper()
	for try := range tries {
		tested := false
		if !t.Run(fmt.Sprint("try ", try+1), func(t *testing.T) { tested = test(t) }) || tested {
			return
		}
	}
	t.Errorf("none of %d tries came to test anything: see their logs", tries)
}
