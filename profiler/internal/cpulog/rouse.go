// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// wakeLimit is how long a Cut waits for a reader that it has woken, before it stops the
// runtime's profile. A reader that waits for a core on a busy machine needs less. silentLimit
// applies until a signal of ours has made a record, which may never happen.
const (
	wakeLimit   = 10 * time.Second
	silentLimit = time.Second
)

// maxLots is how many lots of signals a Cut sends after a lot has not woken the reader for
// wakeLimit: the runtime of a later Go may have a larger buffer. Two lots fill today's
// buffer, and samples lose their stacks.
const maxLots = 4

// rouse makes the reader serve a Cut. The caller holds l.mu.
func (l *Log) rouse() {
	l.look()
	switch {
	case !polls || !l.ours():
		l.stop()
	case deaf(l.installed):
		// Something else would get a thousand signals.
		l.stopDeaf()
	default:
		l.fillBuffer()
		if l.waits() && l.stuck() {
			l.stopDeaf()
		}
	}
}

// await returns what the reader gives to a Cut.
func (l *Log) await(cut <-chan *part) *part {
	begin, lots := time.Now(), 1
	for look := interval; ; look *= 2 {
		select {
		case done := <-cut:
			if done.unwoken {
				l.lots = maxLots
			}
			return done
		case <-time.After(look):
		}
		l.mu.Lock()
		limit := wakeLimit
		if !l.recorded {
			limit = silentLimit
		}
		switch {
		case !l.waits():
		case l.stuck():
			l.stopDeaf()
		case lots < l.lots && l.asleep.Load():
			lots++
			l.fillBuffer()
		case time.Since(begin) > limit:
			l.stopUnwoken()
		}
		l.mu.Unlock()
	}
}

// waits reports whether a Cut waits for the reader, and has not stopped the runtime. The
// caller holds l.mu.
func (l *Log) waits() bool { return l.cut != nil && !l.ended && !l.restart }

// stuck reports whether the reader waits, and no signal of ours can end that. The caller
// holds l.mu.
func (l *Log) stuck() bool { return l.asleep.Load() && deaf(l.installed) }

// fillBuffer makes samples until the reader is awake or must soon be. If the system refuses
// that, it stops the runtime. The caller holds l.mu.
func (l *Log) fillBuffer() {
	if !l.send(l.fill) {
		l.stopUnwoken()
	}
}

// send sends signals on a goroutine of its own. The runtime takes samples of a thread only
// after it has switched to a goroutine there in this run. The caller's thread may have run
// the caller from before. The caller holds l.mu, which is unlocked meanwhile: the reader needs
// it to serve the Cut.
func (l *Log) send(signals func() bool) bool {
	l.mu.Unlock()
	defer l.mu.Lock()
	sent := make(chan bool)
	go func() { sent <- signals() }()
	return <-sent
}

// stopDeaf stops the runtime because something else seems to handle the signals. That may
// pass them on to the runtime. So one more is sent, and its record disproves the suspicion.
// The caller holds l.mu.
func (l *Log) stopDeaf() {
	l.deaf, l.doubted = true, goruntime.Nanotime()
	l.send(l.poke)
	l.stop()
}

// stopUnwoken stops the runtime because signals do not wake the reader. The caller holds l.mu.
func (l *Log) stopUnwoken() {
	l.unwoken = true
	l.stop()
}

// stop ends the samples if a Cut waits for the reader, which then begins again. The caller
// holds l.mu: so Record cannot end, and no other profile can be running.
func (l *Log) stop() {
	if !l.waits() {
		return
	}
	l.restart = true
	l.open.end = goruntime.Nanotime()
	runtime.SetCPUProfileRate(0)
}
