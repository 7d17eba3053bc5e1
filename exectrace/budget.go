// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"runtime"
	"time"
)

// What an execution trace costs, measured beside programs with and without it
// (internal/integration/tracecost): its bytes are the meter.
const (
	perByte      = 20 * time.Nanosecond
	perGoroutine = 700 * time.Nanosecond // each second
	// A look at the recording has the runtime write down what each goroutine does.
	perLook          = 200 * time.Microsecond
	perLookGoroutine = 500 * time.Nanosecond
	// To read a byte of it, with the analysis and the collection of its garbage, which other
	// threads do.
	perByteRead = 45 * time.Nanosecond
)

const (
	// budgetSpan is for how long the budget may be saved up.
	budgetSpan = time.Minute
	// leastPause and mostPause bound a pause.
	leastPause, mostPause = 30 * time.Second, time.Hour
	// mostDoubled is how often pauses are doubled: then the recorder is off.
	mostDoubled = 3
)

// BudgetError says that the execution trace costs more than WithBudget allows, or takes
// more bytes than WithMaxBytes: the recorder pauses.
type BudgetError struct {
	BytesPerSecond int64   // since the last look, a second before or less
	Share          float64 // of a core, that they are reckoned to cost
	Allowed        float64
	MaxBytes       int64         // 0 where that was not the reason
	Pause          time.Duration // at first: Status.Until is later where more is to be paid
}

func (e *BudgetError) Error() string {
	if e.MaxBytes > 0 {
		return fmt.Sprintf("exectrace: the execution trace of a window takes more than %d bytes, and grows by %.1f MB a second: recording pauses for %v; WithMaxBytes and WithBudget allow more", e.MaxBytes, float64(e.BytesPerSecond)/1e6, e.Pause.Round(time.Second))
	}
	return fmt.Sprintf("exectrace: the execution trace takes %.1f MB a second, about %.3g %% of a core, and %.3g %% are allowed: recording pauses for %v; WithBudget allows more", float64(e.BytesPerSecond)/1e6, 100*e.Share, 100*e.Allowed, e.Pause.Round(time.Second))
}

// budget is an account of CPU time, which fills by the share of a core that is allowed.
type budget struct {
	share float64
	left  time.Duration
	at    time.Time
	// since is when recording began, window how long it takes until it is of use.
	since   time.Time
	window  time.Duration
	doubled int
	// Of the recording at the last look.
	bytes          int64
	bytesPerSecond int64
	lastShare      float64
	// readByte is what a byte took at the last reading, perByteRead at least.
	readByte time.Duration
}

func newBudget(share float64, window time.Duration) *budget {
	b := &budget{share: share, window: window, readByte: perByteRead}
	b.left = b.most()
	return b
}

// most is what recording may take at once: a pause ends when that is there again.
func (b *budget) most() time.Duration { return time.Duration(b.share * float64(budgetSpan)) }

// saved is how much is saved up in quiet times: enough to read the largest recording.
func (b *budget) saved() time.Duration {
	return b.most()/2 + max(b.most()/2, time.Duration(usualMaxBytes(b.share, b.window))*perByteRead)
}

// fill adds what has come since the last time.
func (b *budget) fill(now time.Time) {
	if !b.at.IsZero() {
		b.left = min(b.left+time.Duration(b.share*float64(now.Sub(b.at))), b.saved())
	}
	b.at = now
}

// begin says that recording begins.
func (b *budget) begin(now time.Time) {
	b.fill(now)
	b.since, b.bytes = now, 0
}

// look takes what the recording has cost since the last look, or since begin, by its size
// now. It reports whether the account is in debt.
func (b *budget) look(now, last time.Time, bytes int64, goroutines int) (over bool) {
	b.fill(now)
	passed, covered := now.Sub(last), min(now.Sub(b.since), b.window+time.Second)
	if passed <= 0 || covered <= 0 {
		return false
	}
	// What is older than the window has left: the recording grows by less than what came.
	came := max(bytes-b.bytes, int64(float64(bytes)*float64(passed)/float64(covered)))
	b.bytes = bytes
	cost := time.Duration(came)*perByte +
		time.Duration(float64(goroutines)*float64(perGoroutine)*passed.Seconds()) +
		perLook + time.Duration(goroutines)*perLookGoroutine
	b.left -= cost
	b.bytesPerSecond = int64(float64(came) / passed.Seconds())
	b.lastShare = float64(cost) / float64(passed)
	return b.left < 0
}

// canRead reports whether there is what it costs to read a recording.
func (b *budget) canRead(now time.Time, bytes int64) bool {
	b.fill(now)
	return bytes <= b.affords() && b.affords() > 0
}

// cannotRead makes what a byte is thought to cost to read less, as one dear recording tells
// little of those to come: it is halved in half a minute of a refusal each second.
func (b *budget) cannotRead() { b.readByte = max(perByteRead, b.readByte/50*49) }

// affords returns how many bytes may be read. Reading leaves to recording half of what that
// may take at once.
func (b *budget) affords() int64 { return max(0, int64((b.left-b.most()/2)/b.readByte)) }

// read takes what it has cost to read a recording: the CPU time of the thread that did it, or
// what its bytes cost usually, if that is more.
func (b *budget) read(bytes int64, cpu time.Duration) {
	b.left -= max(cpu, time.Duration(bytes)*perByteRead)
	if bytes > 0 {
		b.readByte = max(cpu/time.Duration(bytes), perByteRead)
	}
}

// onThread does something that does not end on another thread, and returns its CPU time, 0
// where the operating system does not say.
func onThread(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _ := threadCPU()
	do()
	after, _ := threadCPU()
	return after - before
}

// pause returns how long to pause: until the account is full again. Where recording did not
// last for two windows, in which it can hardly be of use, it is twice as long each time.
func (b *budget) pause(now time.Time) time.Duration {
	if now.Sub(b.since) > 2*b.window {
		b.doubled = 0
	} else {
		b.doubled++
	}
	return min(max(b.untilFull(now), leastPause)<<max(0, min(b.doubled-1, 8)), mostPause)
}

// untilFull returns how long it takes until the account is full, an hour at most.
func (b *budget) untilFull(now time.Time) time.Duration {
	return time.Duration(min(float64(b.most()-b.left)/b.share-float64(now.Sub(b.at)), float64(mostPause)))
}

// hopeless reports whether recording was of no use several times.
func (b *budget) hopeless() bool { return b.doubled >= mostDoubled }
