// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package loudskip has a test skip in a way that nobody overlooks.
package loudskip

import (
	"errors"
	"fmt"
	"os"
)

// T is what is used of a testing.TB.
type T interface {
	Helper()
	Name() string
	Fatal(args ...any)
	Skip(args ...any)
}

// Test skips t. The reason goes into the file that SPANPROF_SKIPPED names as well, so
// that a run of all tests can end with what it left out.
func Test(t T, reason string) {
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
