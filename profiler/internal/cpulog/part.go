// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"encoding/binary"
	"hash/maphash"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// maxEntries bounds the labels and stacks of a part, to about 30 MB.
const maxEntries = 1 << 16

// fullEntries is how many entries make a cut urgent. The rest is room until then.
const fullEntries = maxEntries * 3 / 4

// fullTimes is how many times of samples make a cut urgent: 8 MB. A part keeps twice as many.
const fullTimes = 1 << 20

var seed = maphash.MakeSeed()

// part is the samples between two cuts.
type part struct {
	start      time.Time
	began, end int64         // nanotimes; began is start
	period     time.Duration // between two samples
	entries    map[key]*entry
	samples    int64
	dropped    int64 // samples for which there was no room
	lastTime   int64 // of the last record that has one
	times      int   // how many there are in entries
	foreign    int   // stacks without an address of Go code, before the first that has some
	inCode     bool
	err        error
}

// newPart returns a part that begins at a nanotime. The caller holds l.mu, except in New.
func (l *Log) newPart(at int64) *part {
	p := &part{start: l.at(at), began: at, end: at, lastTime: at, period: time.Second / hz, entries: make(map[key]*entry)}
	if l.open != nil {
		// These do not change within a run.
		p.inCode, p.foreign, p.period = l.open.inCode, l.open.foreign, l.open.period
	}
	return p
}

// key is the hash of a stack, the text of its labels, and the span that had ended. A program
// may make a new set for each request, with the same labels.
type key struct {
	hash   uint64
	labels string
	ended  string
}

type entry struct {
	stack  []uintptr
	labels *goruntime.LabelSet // that held, the first of the equal sets
	ended  string              // the id of a span that had ended, if any
	count  int64
	times  []int64 // nanotimes
}

// count counts a record of time at. Work after the end of its span has the labels from
// before the span.
func (p *part) count(stack []uint64, labels *goruntime.LabelSet, at, count int64) {
	p.samples += count
	held, ended := spanlabels.At(labels, at)
	k := key{labels: content(held), ended: ended}
	if len(stack) > 0 {
		k.hash = maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(&stack[0])), 8*len(stack)))
	}
	// Where two stacks have the same hash, one of them is next to it.
	for ; ; k.hash++ {
		e := p.entries[k]
		if e == nil {
			if len(p.entries) == maxEntries {
				p.dropped += count
				return
			}
			e = &entry{stack: make([]uintptr, len(stack)), labels: held, ended: ended}
			for i, pc := range stack {
				e.stack[i] = uintptr(pc)
			}
			p.entries[k] = e
		} else if !e.is(stack) {
			continue
		}
		e.count += count
		if p.times < 2*fullTimes {
			e.times = append(e.times, at)
			p.times++
		}
		return
	}
}

func (e *entry) is(stack []uint64) bool {
	if len(e.stack) != len(stack) {
		return false
	}
	for i, pc := range stack {
		if e.stack[i] != uintptr(pc) {
			return false
		}
	}
	return true
}

// content returns a string that is equal for equal labels.
func content(set *goruntime.LabelSet) string {
	labels := set.Labels()
	if len(labels) == 0 {
		return ""
	}
	b := make([]byte, 0, 256)
	for _, l := range labels {
		for _, s := range []string{l.Key, l.Value} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return string(b)
}
