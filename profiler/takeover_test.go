// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"testing"
	"time"
)

func TestTakeoverBacksOff(t *testing.T) {
	var (
		take takeover
		now  = time.Unix(0, 0)
	)
	for i, step := range []struct {
		after, wait time.Duration // since the profiler might be taken again; until it may be
	}{
		{0, 0},                              // the first
		{time.Hour, 0},                      // long after
		{time.Minute - 1, time.Minute},      // again within a minute
		{30 * time.Second, 2 * time.Minute}, // and again, as soon as it was ours
		{time.Second, 4 * time.Minute},
		{time.Second, 8 * time.Minute},
		{time.Second, 16 * time.Minute},
		{time.Second, 16 * time.Minute}, // no longer than that
		{time.Minute, 0},                // a minute without a stop: an accident
		{time.Second, time.Minute},
	} {
		now = now.Add(step.after)
		resume := take.stopped(now)
		if got := resume.Sub(now); got != step.wait {
			t.Errorf("stop %d: wait %v, want %v", i, got, step.wait)
		}
		now = resume
	}
}

func TestTakeoverPollsLessAndLessOften(t *testing.T) {
	var take takeover
	for range 2 {
		for _, want := range []time.Duration{1, 2, 4, 8, 8, 8} {
			want *= time.Second
			if got := take.refused(); got < want/2 || got >= want*3/2 {
				t.Errorf("wait %v, want about %v", got, want)
			}
		}
		take.granted()
	}
}
