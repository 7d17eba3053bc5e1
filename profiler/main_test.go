// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/leaktest"
)

// reported holds the errors given to otel.Handle; each test removes the expected ones.
var reported errorLog

// childVariable is the environment variable that makes this executable run one of
// children instead of tests. Tests signal or stop these child programs.
const childVariable = "SPANPROF_TEST_CHILD"

var children = map[string]func() error{}

// The process has one CPU profiler: no test of this package runs in parallel.
func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	otel.SetErrorHandler(&reported)
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
