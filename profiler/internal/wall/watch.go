// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import "time"

// shortest is the shortest time without the process that counts as a freeze. On a
// busy machine each thread waits for some part of that now and then.
const shortest = 100 * time.Millisecond

// unknownClock is how late the sampler may be where the CPU time of the process is
// not known: later than that the process is taken to have been frozen.
const unknownClock = time.Second

// slow is how much of the time that the sampler is late the process may have run in a
// freeze.
const slow = 1.0 / 8

// watch notices that the process has not run: that it was stopped, or suspended with
// its container. Then a timer fires late, and the process has taken hardly any CPU time
// in the meantime. A timer that is late because others took the CPU, in the process or
// on the machine, or because a quota leaves the process a part of the time, is no
// freeze: the process ran on, if slowly, and what it did took that time.
type watch struct {
	processTime func() (time.Duration, bool) // CPU time of the process; tests replace it

	at      time.Time     // of the last call
	cpu     time.Duration // of the process then
	planned time.Duration // from then until the sampler is to wake
	load    float64       // how many cores the process took before, at least 1
}

func newWatch(now time.Time) *watch {
	w := &watch{processTime: processTime, at: now, load: 1}
	w.cpu, _ = w.processTime()
	return w
}

// plan says that the sampler is to wake after d from the last call of notice.
func (w *watch) plan(d time.Duration) { w.planned = d }

// notice returns for how long the process has not run since the last call, 0 if it
// was for no longer than any process does.
func (w *watch) notice(now time.Time) time.Duration {
	elapsed := now.Sub(w.at)
	late := elapsed - w.planned
	w.at, w.planned = now, max(0, -late)
	cpu, ok := w.processTime()
	if !ok {
		if late < unknownClock {
			return 0
		}
		return late
	}
	used := cpu - w.cpu
	w.cpu = cpu
	// By what it took before, it has run for so long.
	ran := time.Duration(float64(used) / w.load)
	if late-ran >= shortest && float64(ran) <= slow*float64(late) {
		return late - ran
	}
	if elapsed > 0 {
		w.load = max(1, float64(used)/float64(elapsed))
	}
	return 0
}
