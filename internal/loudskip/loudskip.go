// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package loudskip skips tests visibly.
package loudskip

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// Test skips t. It also appends the reason to the file named by SPANPROF_SKIPPED. A run
// of all tests can then list its skips.
func Test(t testing.TB, reason string) {
	t.Helper()
	reason = t.Name() + ": " + reason
	if name := os.Getenv("SPANPROF_SKIPPED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintln(f, reason)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip("SKIPPED: " + reason)
}
