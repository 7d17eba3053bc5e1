// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// failuresInDoubt is after how many failures in a row another profile is
	// tried. One is common: a server that restarts.
	failuresInDoubt = 2
	// maxBad is how often a profile may fail although others were taken in
	// between. A server that fails every other time loses 1 in 64 by it.
	maxBad = 5
	// maxSending is how many profiles are sent at once while many wait, which
	// is more than fewWaiting.
	maxSending, fewWaiting = 4, 8
	// apart is how long an attempt runs before another begins beside it. A
	// destination that answers faster is sent one at a time.
	apart = 50 * time.Millisecond
	// lastChance is how much of the time of a Shutdown or ForceFlush must be left
	// for another attempt.
	lastChance = 50 * time.Millisecond
)

// forever is a sleep that only a wake ends.
const forever = time.Duration(1<<63 - 1)

// retry is the policy of a lane that sends again what fails: when, and what first.
// It is guarded by the lane's mu. A nil one never sends again.
type retry struct {
	backoff   *backoff.ExponentialBackOff
	notBefore time.Time // when the next attempt is due
	asked     bool      // the destination has asked for notBefore
	failure   error     // of the last attempt, if that is to be repeated
	failures  int       // in a row
	tried     *item     // that failed last
	blamed    bool      // tried has proved bad, and is the only reason for notBefore
	answers   uint64    // 1 and the number of profiles that were taken or rejected
	begun     time.Time // when the last attempt began
}

func newRetry() *retry {
	b := backoff.NewExponentialBackOff()
	// The pauses hold up every profile. Where a server fails every other time,
	// they would add up to more than there is time if they began at a second.
	b.InitialInterval, b.Multiplier, b.MaxInterval = 100*time.Millisecond, 2, 20*time.Second // and half of it more, by the jitter
	return &retry{backoff: b, answers: 1}
}

// order returns the order in which to take profiles out: the oldest first, of those
// that have proved bad the least often. After failures in a row it is one that has been
// tried the least instead: if that is taken, the first one is alone in failing.
func (r *retry) order() int {
	if r.failures >= failuresInDoubt {
		return byTries
	}
	return byBad
}

// pause returns how long to wait before an attempt at next, with those of sending
// running; forever until one of those ends. Several run at once where many wait.
func (r *retry) pause(now time.Time, next *item, sending map[*item]struct{}, many bool) time.Duration {
	if len(sending) == 0 {
		return r.notBefore.Sub(now)
	}
	for i := range sending {
		many = many || i.number == next.number // it was split
	}
	// One that has not answered yet, or has just failed, is tried with one.
	if len(sending) == maxSending || r.failures > 0 || r.answers == 1 || !many {
		return forever
	}
	return r.begun.Add(apart).Sub(now)
}

// postpone plans the next attempt at an item that has failed, which must not be too
// old by then. It returns false if the item is to be given up: it fails while others are
// taken.
func (r *retry) postpone(i *item, failure *RetryError, now time.Time, maxAge time.Duration) bool {
	i.unload()
	i.attempts++
	r.failure = failure
	r.tried = i
	r.failures++
	if i.failedAt != 0 && i.failedAt < r.answers {
		i.bad++
	}
	i.failedAt = r.answers
	r.blamed = i.bad > 0
	i.doubtful = i.doubtful || !failure.Refused
	r.asked = failure.After > 0
	pause := min(failure.After, maxAge) // what waits now is gone by then
	if !r.asked {
		pause = r.backoff.NextBackOff()
	}
	r.notBefore = now.Add(pause)
	// A limit of the destination's passes: what it holds back only goes behind
	// the others.
	return i.bad < maxBad || failure.Refused || r.asked
}

// succeed ends an outage.
func (r *retry) succeed() {
	r.failure, r.notBefore, r.asked, r.failures, r.tried, r.blamed = nil, time.Time{}, false, 0, nil, false
	r.answers++
	r.backoff.Reset()
}

// hasten makes the next attempt due, unless the destination wants it later.
func (r *retry) hasten() {
	if !r.asked {
		r.notBefore = time.Time{}
	}
}

// refresh makes the next attempt due for a caller that waits, as hasten does, and has
// the pauses begin short again.
func (r *retry) refresh() {
	if r != nil {
		r.backoff.Reset()
		r.hasten()
	}
}

// arrive says that another profile waits: it is tried before one that has proved bad.
func (r *retry) arrive() {
	if r.blamed {
		r.blamed, r.failures = false, 0
		r.refresh()
	}
}

// inTime reports whether an attempt is due before the deadline of a Shutdown or
// ForceFlush. A pause of ours is an eighth of the time that is left at most.
func (r *retry) inTime(now, deadline time.Time) bool {
	left := deadline.Sub(now)
	switch {
	case r.asked:
		return r.notBefore.Before(deadline)
	case left <= lastChance:
		return false
	}
	if next := now.Add(left / 8); next.Before(r.notBefore) {
		r.notBefore = next
	}
	return true
}

// retried returns err as a RetryError, if it is one.
func retried(err error) (*RetryError, bool) { return errors.AsType[*RetryError](err) }
