// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// wakeLimit is how long a Cut waits for a reader that it has woken, before it wakes it
// by a stop. A reader that waits for a core on a busy machine needs less. silentLimit
// holds while no signal of ours has made a record yet, which may never be.
const (
	wakeLimit   = 10 * time.Second
	silentLimit = time.Second
)

// maxLots is how many lots of signals a Cut sends to a reader that sleeps on, after one has
// not woken it for wakeLimit: the runtime of a later Go may have a larger buffer. Where the
// buffer is as it is today, two lots fill it, and samples lose their stacks.
const maxLots = 4

// rouse has the reader serve a Cut. The caller holds l.mu.
func (l *Log) rouse() {
	l.look()
	switch {
	case !polls || !l.ours():
		l.stop()
	case deaf(l.hears):
		// Not by a thousand signals, which something else would get.
		l.stopDeaf()
	default:
		l.fillBuffer()
		if l.waits() && l.unheard() {
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
		if !l.heard {
			limit = silentLimit
		}
		switch {
		case !l.waits():
		case l.unheard():
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

// unheard reports whether the reader waits, and no signal of ours can end that. The caller
// holds l.mu.
func (l *Log) unheard() bool { return l.asleep.Load() && deaf(l.hears) }

// fillBuffer makes samples until the reader is awake or must soon be. Where that cannot be
// it stops the runtime. The caller holds l.mu.
func (l *Log) fillBuffer() {
	if !l.send(l.fill) {
		l.stopUnwoken()
	}
}

// send has a goroutine of its own send signals: the runtime takes samples of a thread only
// if it has switched to a goroutine there since the run began, and the caller may go on from
// before that. The caller holds l.mu, which is left to the reader meanwhile: it needs that to
// serve the Cut.
func (l *Log) send(signals func() bool) bool {
	l.mu.Unlock()
	defer l.mu.Lock()
	sent := make(chan bool)
	go func() { sent <- signals() }()
	return <-sent
}

// stopDeaf stops the runtime because something else handles the signals, as it seems. That
// may pass them on to the runtime, so one more is sent, whose record says so. The caller
// holds l.mu.
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

// stop has the reader see the end of the samples, and begin again, if a Cut waits for it. The
// caller holds l.mu: so Record cannot end, and nobody else's profile can be running.
func (l *Log) stop() {
	if !l.waits() {
		return
	}
	l.restart = true
	l.open.end = goruntime.Nanotime()
	runtime.SetCPUProfileRate(0)
}
