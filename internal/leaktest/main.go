// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package leaktest fails the tests of a package that leave goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end after the last test.
// goleak.VerifyTestMain waits 0.4 s, which a loaded machine exceeds.
const patience = 30 * time.Second

// Run runs the tests of m, a *testing.M, and returns the exit code of the test
// program. It is a failure if goroutines still run half a minute after the
// tests have passed; they are printed.
func Run(m goleak.TestingM, options ...goleak.Option) int {
	code := m.Run()
	for deadline := time.Now().Add(patience); code == 0; {
		err := goleak.Find(options...)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "leaktest: goroutines outlive the tests: %v\n", err)
			code = 1
		}
	}
	return code
}
