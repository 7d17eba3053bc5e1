// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// part is what was counted between two cuts.
type part struct {
	start, end time.Time
	period     time.Duration // between two samples
	entries    map[key]*entry
	dropped    int64 // samples for which there was no room
	// foreign counts stacks without an address of Go code, until one has some, which
	// inCode says.
	foreign int
	inCode  bool
	err     error
}

func (l *Log) newPart(start time.Time) *part {
	return &part{start: start, period: time.Second / time.Duration(l.hz), entries: make(map[key]*entry)}
}

// key is the hash of a stack and what its labels are. A program may make a new set
// for each request, with the same labels.
type key struct {
	hash   uint64
	labels string
}

type entry struct {
	stack  []uintptr
	labels *goruntime.LabelSet // the first of the equal sets
	count  int64
}
