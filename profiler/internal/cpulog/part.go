// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/internal/stacks"
)

// maxEntries bounds the labels and stacks of a part, to about 30 MB.
const maxEntries = 1 << 16

// fullEntries is how many entries make a cut urgent. The rest is room until then.
const fullEntries = maxEntries * 3 / 4

// part is the samples between two cuts.
type part struct {
	start      time.Time
	began, end int64             // nanotimes; began is start
	period     time.Duration     // between two samples
	entries    map[uint64]*entry // by the hash of stack and labels
	key        []byte            // scratch space of count
	samples    int64
	dropped    int64 // samples for which there was no room
	lastTime   int64 // of the last record that has one
	err        error
}

// newPart returns a part that begins at a nanotime. The caller holds l.mu, except in New.
func (l *Log) newPart(at int64) *part {
	p := &part{start: l.at(at), began: at, end: at, lastTime: at, period: time.Second / hz, entries: make(map[uint64]*entry)}
	if l.open != nil {
		p.period = l.open.period // does not change within a run
	}
	return p
}

type entry struct {
	stack  []uintptr
	labels *goruntime.LabelSet // that held, the first of the equal sets
	ended  string              // the id of a span that had ended, if any
	count  int64
}

// count counts a record of time at, by the labels that held then. Work after the end of its
// span has the labels from before the span.
func (p *part) count(stack []uint64, labels *goruntime.LabelSet, at, count int64) {
	p.samples += count
	held, ended := spanlabels.At(labels, at)
	h := stacks.Hash(&p.key, stack, held.Labels(), ended)
	e := p.entries[h]
	if e == nil {
		if len(p.entries) == maxEntries {
			p.dropped += count
			return
		}
		e = &entry{stack: make([]uintptr, len(stack)), labels: held, ended: ended}
		for i, pc := range stack {
			e.stack[i] = uintptr(pc)
		}
		p.entries[h] = e
	}
	e.count += count
}
