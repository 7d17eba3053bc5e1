// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package livetest ends tests on real samples within a minute, with their number if it is small.
package livetest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Most is the longest time for which a test collects samples.
const Most = 50 * time.Second

// Context returns a context that ends d from now, or 5 s before the test binary's deadline.
func Context(t *testing.T, d time.Duration) context.Context {
	if last, ok := t.Deadline(); ok {
		d = min(d, time.Until(last)-5*time.Second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Doubling calls try with d, then with about twice d, until try returns "". The test fails with
// the text of try if Most leaves no time for a longer call.
func Doubling(t *testing.T, d time.Duration, try func(d time.Duration) (missing string)) {
	t.Helper()
	for end, _ := Context(t, Most).Deadline(); ; {
		began, missing := time.Now(), try(d)
		if missing == "" || t.Failed() {
			return
		}
		factor := min(2, float64(time.Until(end))/float64(time.Since(began)))
		if factor < 1 {
			t.Fatalf("%s, in %v of work", missing, d)
		}
		d = time.Duration(float64(d) * factor)
	}
}

// Until returns when condition holds. It looks at ever longer intervals, for half a minute.
func Until(t *testing.T, condition func() bool) {
	t.Helper()
	for d, waited := time.Millisecond, time.Duration(0); !condition(); d *= 2 {
		if waited > 30*time.Second {
			t.Fatalf("still not after %v", waited)
		}
		<-time.After(d)
		waited += d
	}
}

// Few returns "" if got is at least want, else a text with both.
func Few(got, want int64, things string) string {
	if got < want {
		return fmt.Sprintf("got %d %s, want %d", got, things, want)
	}
	return ""
}
