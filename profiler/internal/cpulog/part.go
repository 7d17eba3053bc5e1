// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// maxEntries bounds what is kept until a cut, to some 30 MB with labels and stacks.
const maxEntries = 1 << 16

// fullEntries is how many there are when a cut is asked for. The rest is room for those that
// come until then.
const fullEntries = maxEntries * 3 / 4

// maxTimes bounds the times of samples that are kept until a cut, to 8 MB. Where there
// are more, each that is kept stands for several.
const maxTimes = 1 << 20

var seed = maphash.MakeSeed()

// part is what was counted between two cuts.
type part struct {
	signals    *tally // the Log's
	start      time.Time
	began, end int64         // nanotimes; began is start
	period     time.Duration // between two samples
	entries    map[key]*entry
	dropped    int64 // samples for which there was no room
	last       int64 // the time of the last record that has one
	times      int   // how many there are in entries
	stride     int64 // one in so many samples of an entry has its time kept
	// foreign counts stacks without an address of Go code, until one has some: then
	// inCode is true.
	foreign int
	inCode  bool
	err     error

	restarted  bool // the runtime was stopped for its end
	deaf       bool // because something else handles its signals
	unwoken    bool // because signals have not woken the reader
	overflowed bool // the runtime had no room for samples
}

func (l *Log) newPart(at int64) *part {
	p := &part{signals: &l.signals, period: time.Second / time.Duration(l.hz), entries: make(map[key]*entry), stride: 1}
	if l.open != nil {
		// What does not change within a run.
		p.inCode, p.foreign = l.open.inCode, l.open.foreign
		if !l.restart {
			p.period = l.open.period
		}
	}
	p.begin(at, l.clock)
	return p
}

// begin sets when the part began.
func (p *part) begin(at int64, c clock) {
	p.start, p.began, p.end, p.last = c.at(at), at, at, at
}

// key is the hash of a stack, what its labels are, and which span had ended. A program may make a new set
// for each request, with the same labels.
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

// count counts a record of time at. What works for a span that has ended has the labels
// from before it.
func (p *part) count(stack []uint64, labels *goruntime.LabelSet, at, count int64) {
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
		p.time(e, at)
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

// time keeps the time of a sample. The first of an entry is always kept.
func (p *part) time(e *entry, at int64) {
	if len(e.times) > 0 && e.count%p.stride != 0 {
		return
	}
	e.times = append(e.times, at)
	if p.times++; p.times < maxTimes {
		return
	}
	p.stride *= 2
	p.times = 0
	for _, e := range p.entries {
		for i := range (len(e.times) + 1) / 2 {
			e.times[i] = e.times[2*i]
		}
		e.times = e.times[:(len(e.times)+1)/2]
		p.times += len(e.times)
	}
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

// missing returns an error for samples that are not in the profile.
func (p *part) missing() error {
	if p.dropped == 0 {
		return p.err
	}
	return errors.Join(p.err, &DroppedError{Samples: p.dropped})
}
