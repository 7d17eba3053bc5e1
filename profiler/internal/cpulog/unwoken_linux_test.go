// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"sync/atomic"
	"testing"
)

// A system can refuse signals. None of those is counted as sent.
func TestSignalsAreRefused(t *testing.T) {
	var asleep atomic.Bool
	asleep.Store(true)
	var sent atomic.Int64
	if deep(deepest, thread{}, &asleep, &sent) || sent.Load() != 0 {
		t.Errorf("%d signals were sent to no thread", sent.Load())
	}
}
