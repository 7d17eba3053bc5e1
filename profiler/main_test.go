// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"os"
	"sync"
	"testing"

	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report"
)

// reported holds the errors given to otel.Handle; each test removes the expected ones.
var reported errorLog

// The process has one CPU profiler: no test of this package runs in parallel.
func TestMain(m *testing.M) {
	report.Synchronous(reported.Handle)
	os.Exit(leaktest.Run(m))
}

// errorLog is an otel.ErrorHandler that keeps the errors.
type errorLog struct {
	mu      sync.Mutex
	errs    []error
	changed chan struct{} // closed at the next Handle; nil when nobody waits
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
