// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSlowTick(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		hz   int
		tick time.Duration
		want string // empty: no error
	}{
		{100, 10 * ms, ""}, // runtime/pprof's own rate
		{97, 10 * ms, ""},
		{101, 10 * ms, "ticks 100 times a second and takes no more samples, so that 101 Hz shows up to 99 %"},
		{200, 10 * ms, "so that 200 Hz shows up to 50 % of the CPU time: use WithCPURate with less than 100"},
		{200, 4 * ms, ""},
		{200, 0, ""}, // not known
	} {
		err := slowTick(test.hz, test.tick)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d Hz with a tick of %v: %v, want %q", test.hz, test.tick, err, test.want)
		}
	}
}

// Linux says how often it ticks: 100 to 1000 times a second, or where it is
// emulated so often that no rate is too fast.
func TestTickIsKnown(t *testing.T) {
	if got := tick(); runtime.GOOS == "linux" && (got <= 0 || got > 10*time.Millisecond) {
		t.Errorf("a tick of %v", got)
	}
}
