// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package cpulog

import (
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Where signals do not wake the reader a cut ends nevertheless, and says so. The next one sends
// more of them.
func TestCutOfAReaderThatSleepsOn(t *testing.T) {
	known(t)
	var l *Log
	l = New(100, func() ([]uint64, []*goruntime.LabelSet, bool) {
		for stopped := false; !stopped; {
			<-time.After(time.Millisecond)
			l.mu.Lock()
			stopped = l.restart || l.closing
			l.mu.Unlock()
		}
		for eof := false; !eof; {
			_, _, eof = goruntime.ReadCPUProfile()
		}
		return nil, nil, true // no signal has made a record
	})
	defer recordUnheard(l)()
	for n, want := range []int64{enough, maxLots * enough, maxLots * enough} {
		for !l.asleep.Load() {
			<-time.After(time.Millisecond)
		}
		sent := l.signals.sent.Load()
		p, err := l.Cut()
		if err != nil || !p.Restarted || !p.Unwoken || p.Deaf {
			t.Errorf("cut %d: restarted %t, unwoken %t, deaf %t: %v", n, p.Restarted, p.Unwoken, p.Deaf, err)
		}
		// And those of the reader's looks.
		if sent = l.signals.sent.Load() - sent; sent < want || sent > want+looks {
			t.Errorf("cut %d: %d signals, want %d", n, sent, want)
		}
	}
}
