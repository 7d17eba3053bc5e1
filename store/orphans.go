// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"
	"unsafe"
)

// orphans are the samples of spans without a record: those of a child that has
// not ended, which find it when it does, and those of spans that the store never
// hears of. Of twice maxOrphans at most, the newer half is kept when there are more.
type orphans struct {
	newer, older map[spanKey]*orphan
}

// orphan is what is known of such a span.
type orphan struct {
	spanSamples
	// counted is what of the CPU time is counted by name, which has no value
	// if nothing is.
	counted struct {
		cpu      time.Duration
		cpuCount int64
	}
	name nameKey
}

var orphanCost = allocSize(int64(unsafe.Sizeof(orphan{}))) + slotSize(8+pointerSize)

func (o *orphans) get(key spanKey) *orphan {
	if x := o.newer[key]; x != nil {
		return x
	}
	return o.older[key]
}

func (o *orphans) bytes() int64 { return int64(len(o.newer)+len(o.older)) * orphanCost }
