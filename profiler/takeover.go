// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"math/rand/v2"
	"time"
)

const (
	// firstPoll is how long we wait, on average, before we look whether
	// another CPU profile has ended: half a second would be too soon for
	// libraries that stop and start theirs in turn. Every look is a call of
	// StartCPUProfile, so they get rarer up to lastPoll.
	firstPoll = time.Second
	lastPoll  = 8 * time.Second
	// stopsApart is how long we have to profile without a foreign stop so
	// that the next one counts as an accident again. Otherwise somebody does
	// it on purpose: we leave him the CPU profiler for firstBackoff, and
	// after each further stop for twice as long, up to lastBackoff.
	stopsApart   = time.Minute
	firstBackoff = time.Minute
	lastBackoff  = 16 * time.Minute
)

// takeover says when to try again to get the CPU profiler. The zero value is
// ready to use.
type takeover struct {
	poll    time.Duration // the last delay of refused, without jitter
	backoff time.Duration // the last of stopped
	resumed time.Time     // when the last one was over; zero before the first stop
}

// stopped is told that something else has stopped our profile, and returns when
// we may have the profiler again: now, or after a backoff.
func (t *takeover) stopped(now time.Time) time.Time {
	if t.resumed.IsZero() || now.Sub(t.resumed) >= stopsApart {
		t.backoff = 0
	} else {
		t.backoff = min(max(2*t.backoff, firstBackoff), lastBackoff)
	}
	t.resumed = now.Add(t.backoff)
	return t.resumed
}

// refused is told that another profile is running, and returns how long to wait
// before the next attempt.
func (t *takeover) refused() time.Duration {
	t.poll = min(max(2*t.poll, firstPoll), lastPoll)
	return jitter(t.poll)
}

// granted is told that the profiler is ours.
func (t *takeover) granted() { t.poll = 0 }

// jitter returns between half of d and one and a half of it, so that two who
// wait for each other do not go on in step.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
