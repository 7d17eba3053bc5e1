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

// delaysShare is the part of the sampler's budget that reading run delays may take.
const delaysShare = 1.0 / 20

// watch notices that the process has not run: that it was stopped, or suspended with
// its container. Then a timer fires late, the process has taken hardly any CPU time in
// the meantime, and none of its threads has waited for a CPU. A timer that is late because
// others took the CPU, in the process or on the machine, or because a quota leaves the
// process a part of the time, is no freeze: the process ran on, if slowly, and what it did
// took that time.
type watch struct {
	processTime func() (time.Duration, bool) // CPU time of the process; tests replace it
	readDelays  func() (delays, bool)        // the same of its threads' run delays

	at      time.Time     // of the last call
	cpu     time.Duration // of the process then
	planned time.Duration // from then until the sampler is to wake
	load    float64       // how many cores the process took before, at least 1

	budget  float64
	delays  delays    // at a time read, not after at; nil if the system does not tell
	read    time.Time // and the CPU time that it took
	reading time.Duration
	spent   time.Duration // on all that nobody has paid for
}

// delays is how long threads have waited for a CPU, by id.
type delays map[string]time.Duration

// since returns for how long one of the threads has waited since before: the one that has
// waited longest, as threads that wait at the same time do not add up.
func (d delays) since(before delays) time.Duration {
	var most time.Duration
	for id, now := range d {
		most = max(most, now-before[id])
	}
	return most
}

func newWatch(budget float64, now time.Time) *watch {
	w := &watch{processTime: processTime, readDelays: readDelays, budget: budget, at: now, load: 1}
	w.cpu, _ = w.processTime()
	return w
}

// plan says that the sampler is to wake after d from the last call of notice.
func (w *watch) plan(d time.Duration) { w.planned = d }

// restart forgets what was before a time.
func (w *watch) restart(now time.Time) {
	w.at, w.planned, w.load = now, 0, 1
	w.cpu, _ = w.processTime()
	w.readNow(now)
}

// notice returns for how long the process has not run since the last call, 0 if it
// was for no longer than any process does.
func (w *watch) notice(now time.Time) time.Duration {
	elapsed := now.Sub(w.at)
	late := elapsed - w.planned
	w.at, w.planned = now, max(0, -late)
	// A reading is as old as it is dear, so that its waits may be of earlier too.
	var waited time.Duration
	if every := float64(w.reading) / (delaysShare * w.budget); late >= shortest || float64(now.Sub(w.read)) >= every {
		waited = w.readNow(now)
	}
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
	if stood := late - ran - waited; stood >= shortest && float64(ran) <= slow*float64(late) {
		return stood
	}
	if elapsed > 0 {
		w.load = max(1, float64(used)/float64(elapsed))
	}
	return 0
}

// readNow reads the run delays and returns the longest since they were read last, 0 where
// the system does not tell.
func (w *watch) readNow(now time.Time) time.Duration {
	if w.readDelays == nil {
		return 0
	}
	before := w.delays
	var ok bool
	w.reading = measure(func() { w.delays, ok = w.readDelays() })
	w.spent += w.reading
	w.read = now
	if !ok {
		w.delays, w.readDelays = nil, nil
	}
	if before == nil {
		return 0
	}
	return w.delays.since(before)
}
