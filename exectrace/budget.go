// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// The cost of an execution trace, measured in programs with and without one
// (internal/integration/tracecost).
const (
	perByte      = 20 * time.Nanosecond
	perGoroutine = 700 * time.Nanosecond // each second
	// A look makes the runtime write the state of each goroutine.
	perLook          = 200 * time.Microsecond
	perLookGoroutine = 500 * time.Nanosecond
	// perByteRead includes the analysis, and the collection of its garbage by other threads.
	perByteRead = 45 * time.Nanosecond
	// perByteThreads is the cost to read what ran on threads.
	perByteThreads = 25 * time.Nanosecond
)

const (
	// budgetSpan is the longest time that the budget is saved up for.
	budgetSpan = time.Minute
	// leastLook and mostLook bound the time between looks at the recording's size.
	leastLook, mostLook = time.Second, 5 * time.Second
	// readApart is the time between two readings.
	readApart = 10 * time.Second
	// longPause follows a recording that could not afford its first window.
	longPause = time.Hour
)

// budget is an account of CPU time. A reading is reserved: recording goes on only while the
// account can pay for the time until the next reading, and for that reading.
type budget struct {
	share  float64
	window time.Duration

	left   time.Duration
	filled time.Time // of the last time that was added
	since  time.Time // of the recording's begin
	useful bool      // it was read since then
	looked time.Time // of the last look
	// At the last look: the recording's bytes, its growth, and the share of a core it costs.
	bytes          int64
	bytesPerSecond float64
	cost           float64
}

func newBudget(share float64, window time.Duration) *budget {
	b := &budget{share: share, window: window}
	b.left = b.most()
	return b
}

// most is the full account.
func (b *budget) most() time.Duration { return time.Duration(b.share * float64(budgetSpan)) }

func (b *budget) fill(now time.Time) {
	if !b.filled.IsZero() {
		b.left = min(b.left+time.Duration(b.share*float64(now.Sub(b.filled))), b.most())
	}
	b.filled = now
}

// begin starts a recording.
func (b *budget) begin(now time.Time) {
	b.fill(now)
	b.since, b.looked, b.bytes, b.useful = now, now, 0, false
}

// look pays for the time since the last look, by the recording's size.
func (b *budget) look(now time.Time, bytes int64, goroutines int) {
	b.fill(now)
	passed, covered := now.Sub(b.looked), min(now.Sub(b.since), b.window+time.Second)
	if passed <= 0 || covered <= 0 {
		return
	}
	// Old parts have been dropped: the recording grows by less than it gets.
	mean := int64(float64(bytes) * float64(passed) / float64(covered))
	others := lookCost(goroutines) + time.Duration(float64(goroutines)*float64(perGoroutine)*passed.Seconds())
	b.left -= time.Duration(max(bytes-b.bytes, mean))*perByte + others
	b.looked, b.bytes = now, bytes
	// On a busy machine the recording grows in bursts: only its mean predicts.
	b.bytesPerSecond = float64(mean) / passed.Seconds()
	b.cost = float64(time.Duration(mean)*perByte+others) / float64(passed)
}

func lookCost(goroutines int) time.Duration {
	return perLook + time.Duration(goroutines)*perLookGoroutine
}

// nextLook returns the time between looks: they take at most a tenth of the budget.
func (b *budget) nextLook(goroutines int) time.Duration {
	return min(max(time.Duration(10*float64(lookCost(goroutines))/b.share), leastLook), mostLook)
}

// lasts reports whether the account pays for recording for a time, and for a reading then.
func (b *budget) lasts(d time.Duration) bool {
	d = max(d, 0)
	covered := min(b.looked.Sub(b.since)+d, b.window+time.Second)
	bytes := min(float64(b.bytes)+b.bytesPerSecond*d.Seconds(), max(float64(b.bytes), b.bytesPerSecond*covered.Seconds()))
	return float64(b.left) >= (b.cost-b.share)*float64(d)+bytes*float64(perByteRead)
}

// pay takes the cost of bytes from the account if it has that, and a reserve.
func (b *budget) pay(now time.Time, cost, reserve time.Duration) bool {
	b.fill(now)
	if b.left < cost+reserve {
		return false
	}
	b.left -= cost
	return true
}

// readCost is the price of a reading of the recording at its last look.
func (b *budget) readCost() time.Duration { return time.Duration(b.bytes) * perByteRead }

// pause returns the time until the account is full. It is longPause after a recording that was
// of no use.
func (b *budget) pause(now time.Time) time.Duration {
	if now.Sub(b.since) < b.window && !b.useful {
		return longPause
	}
	return min(time.Duration(float64(b.most()-b.left)/b.share), longPause)
}
