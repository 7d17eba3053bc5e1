// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"slices"
	"time"
)

// shortest is the shortest time without the process that counts as a freeze. On a
// busy machine each thread waits for some part of that now and then.
const shortest = 100 * time.Millisecond

// unknownClock is how late the sampler may be where the CPU time of the process is
// not known: later than that the process is taken to have been frozen.
const unknownClock = time.Second

// slow is how much of the time that the sampler is late the process may have run in a
// freeze.
const slow = 1.0 / 8

// delaysShare is the part of the sampler's budget that reading run delays may take, and
// delaysRetry the time between two attempts where the system does not tell them: there may
// have been too many threads.
const (
	delaysShare = 1.0 / 20
	delaysRetry = time.Minute
)

// watch notices that the process has not run: that it was stopped, or suspended with
// its container. Then a timer fires late, the process has taken hardly any CPU time in
// the meantime, and none of its threads has waited for a CPU. A timer that is late because
// others took the CPU, in the process or on the machine, or because a quota leaves the
// process a part of the time, is no freeze: the process ran on, if slowly, and what it did
// took that time.
type watch struct {
	// What tests replace.
	now         func() time.Time
	processTime func() (time.Duration, bool) // CPU time of the process
	readDelays  func() (delays, bool)        // run delays of its threads

	at      time.Time     // of the last call, after what it has read
	cpu     time.Duration // of the process then
	planned time.Duration // from then until the sampler is to wake
	load    float64       // how many cores the process took before, at least 1
	loaded  time.Time     // until when that was measured
	loadCPU time.Duration // of the process then

	budget  float64
	delays  delays        // at a time read, not after at; nil if the system did not tell
	read    time.Time     // when that was done, or tried
	reading time.Duration // the CPU time that it took
	spent   time.Duration // on all that nobody has paid for
}

// delays is how long threads have waited for a CPU, by id.
type delays map[string]time.Duration

// inARow is how many threads may have waited one after the other until the sampler runs:
// the one that its timer wakes, the one that this wakes to run it, and the runtime's
// monitor, which takes the work from a thread that lost its CPU.
const inARow = 3

// since returns for how long threads have waited since before, at most: the waits of
// those that have waited longest, one after the other. More add up to too much, as after
// a freeze, when all threads wait for a CPU at the same time.
func (d delays) since(before delays) time.Duration {
	waits := make([]time.Duration, 0, len(d))
	for id, now := range d {
		waits = append(waits, max(0, now-before[id]))
	}
	slices.Sort(waits)
	var sum time.Duration
	for _, w := range waits[max(0, len(waits)-inARow):] {
		sum += w
	}
	return sum
}

func newWatch(budget float64, now time.Time) *watch {
	w := &watch{now: time.Now, processTime: processTime, readDelays: readDelays, budget: budget, at: now, load: 1, loaded: now}
	w.cpu, _ = w.processTime()
	w.loadCPU = w.cpu
	return w
}

// plan says that the sampler is to wake after d from the last call of notice.
func (w *watch) plan(d time.Duration) { w.planned = d }

// restart forgets what was before.
func (w *watch) restart() {
	w.planned, w.load = 0, 1
	w.cpu, _ = w.processTime()
	w.readNow()
	w.at = w.now()
	w.loaded, w.loadCPU = w.at, w.cpu
}

// notice returns the freeze of the process since the last call, none if it was no longer
// than any process stands still.
//
// A reading of run delays counts for the time up to its end: the sampler may lose its CPU
// in the midst of it. The waits since the reading before may be older than the last call,
// where that was too soon for one. A freeze that is not much longer than they are is then
// not told from them; it is a look that was late, and so in the stated error.
func (w *watch) notice() freeze {
	now := w.now()
	var waited time.Duration
	if every := float64(w.reading) / (delaysShare * w.budget); now.Sub(w.at)-w.planned >= shortest || float64(now.Sub(w.read)) >= every {
		waited = w.readNow()
		now = w.now()
	}
	late := now.Sub(w.at) - w.planned
	f := freeze{at: now.Add(-late), until: now}
	w.at, w.planned = now, max(0, -late)
	cpu, ok := w.processTime()
	if !ok {
		if late >= unknownClock {
			f.d = late
		}
		return f
	}
	used := cpu - w.cpu
	w.cpu = cpu
	// By what it took before, it has run for so long.
	ran := time.Duration(float64(used) / w.load)
	if stood := late - ran - waited; stood >= shortest && float64(ran) <= slow*float64(late) {
		f.d = stood
		w.loaded, w.loadCPU = now, cpu
		return f
	}
	// The system adds the CPU time of a thread that runs up to a tick late, so that the
	// load of a moment is not known.
	if d := now.Sub(w.loaded); d >= minInterval {
		w.load = max(1, float64(cpu-w.loadCPU)/float64(d))
		w.loaded, w.loadCPU = now, cpu
	}
	return f
}

// readNow reads the run delays and returns those since they were read last, 0 where the
// system does not tell one of them.
func (w *watch) readNow() time.Duration {
	if w.readDelays == nil || w.delays == nil && !w.read.IsZero() && w.now().Sub(w.read) < delaysRetry {
		return 0
	}
	before := w.delays
	var ok bool
	w.reading = measure(func() { w.delays, ok = w.readDelays() })
	w.spent += w.reading
	w.read = w.now()
	if !ok {
		w.delays = nil
	}
	if before == nil || w.delays == nil {
		return 0
	}
	return w.delays.since(before)
}
