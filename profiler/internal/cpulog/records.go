// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// No record of the runtime has more words, and none has more samples.
const (
	maxWords = 1 << 12
	maxCount = 1 << 30
)

// disorder is how far the time of a record may be from the time of its read: the clocks of
// two cores can differ, and a record may wait through a suspension of the machine.
const disorder = int64(time.Second)

// take counts records. A record is its length in words, the time, the count, and the stack. Each
// has a label set. The first record of a run has the rate instead. The caller holds l.mu.
func (l *Log) take(records []uint64, labels []*goruntime.LabelSet) {
	now := goruntime.Nanotime()
	for ; len(records) > 0; labels = labels[1:] {
		n := records[0]
		if n < 3 || n > min(uint64(len(records)), maxWords) || len(labels) == 0 {
			l.last().err = ErrRecord
			return
		}
		at, count, stack := int64(records[1]), records[2], records[3:n]
		records = records[n:]
		if l.header {
			l.header = false
			if n != 3 || count == 0 || count > uint64(time.Second) {
				l.last().err = ErrRecord
				return
			}
			l.last().period = time.Second / time.Duration(count)
			continue
		}
		if at == 0 {
			at = l.open.lastTime // of a thread of another language: the runtime has no time for it
		}
		noRoom := count == 0 && len(stack) == 1
		if noRoom { // in the runtime's buffer
			count, stack = stack[0], []uint64{lost}
		}
		p := l.open
		if l.next != nil && at >= l.next.began {
			p = l.next
		}
		if at > now+disorder || count > maxCount || !noRoom && !l.verify(stack) {
			p.err = ErrRecord
			return
		}
		at = min(at, now)
		p.lastTime = max(p.lastTime, at)
		p.count(stack, labels[0], at, int64(count))
	}
	if len(l.open.entries) >= fullEntries {
		signal(l.full)
	}
}

// last returns the newest part. The caller holds l.mu.
func (l *Log) last() *part {
	if l.next != nil {
		return l.next
	}
	return l.open
}

// maxForeign is how many stacks may be outside of Go code. The runtime has hardly any: stacks
// of C threads end in its runtime._ExternalCode unless the program has called
// runtime.SetCgoTraceback.
const maxForeign = 100

// verify checks that stacks are made of addresses of code: it returns false if the first
// maxForeign have none. The caller holds l.mu.
func (l *Log) verify(stack []uint64) bool {
	if l.inCode || len(stack) == 0 {
		return true
	}
	l.inCode = slices.ContainsFunc(stack, func(pc uint64) bool { return runtime.FuncForPC(uintptr(pc)-1) != nil })
	if !l.inCode {
		l.foreign++
	}
	return l.inCode || l.foreign < maxForeign
}
