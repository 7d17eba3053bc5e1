// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"hash/maphash"
	"math"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Config says how much a log keeps, and of what.
type Config struct {
	// MaxBytes bounds the memory of the log.
	MaxBytes int64
	// MinDuration is the shortest span to keep, Fraction that of the traces.
	MinDuration time.Duration
	Fraction    float64
	// PerName is how many of the slowest spans of each name, and of those
	// with most CPU time, outlive the newest.
	PerName int
	// Root, unless nil, is told of each sampled local root that ended, with the name
	// of its tracer and whether it had a profile of its own, but not of those that
	// lost attributes. It must be quick, and must not use the log.
	Root func(tracer string, profiled bool)
	// Keys are the attributes of spans to keep, nil for none.
	Keys *attributes.Keys
}

// New returns an empty log.
func New(c Config) *Log {
	// Orphans take a sixteenth, and so may what is not in the log yet.
	maxBytes := c.MaxBytes * 14 / 16
	// Names and status texts need what the rows leave.
	rows := chunkLen
	for rows < math.MaxInt32-chunkLen && rowsSize(rows+chunkLen, (rows+chunkLen)/8) <= maxBytes*3/4 {
		rows += chunkLen
	}
	l := &Log{
		root:        c.Root,
		maxBytes:    maxBytes,
		maxRows:     rows,
		maxRunning:  rows / 8,
		maxErrors:   rows / 8,
		maxPassed:   rows / 4,
		orphans:     newOrphans(c.MaxBytes / 16),
		departed:    remains[departed]{maxBytes: c.MaxBytes / 32},
		minDuration: c.MinDuration,
		sampled:     math.MaxUint64,
		perName:     c.PerName,
		seed:        maphash.MakeSeed(),
		names:       make(nameMap),
		texts:       make(map[string]*Text),
		keys:        c.Keys,
		below:       newBelow(c.MaxBytes / 32),
	}
	l.queue.init(c.MaxBytes / 16)
	if c.Fraction < 1 {
		l.sampled = uint64(c.Fraction * (1 << 63))
	}
	if l.perName > 0 {
		// Extremes take at most a quarter of the rows, the last share of
		// which is for the names without a keeper of their own.
		l.maxKeepers = min(maxOwnKeepers, max(0, rows/4/l.rowsPerKeeper()-1))
		// The last errors of each type take a sixteenth more.
		l.maxErrorTypes = min(maxErrorTypes, rows/16/lastErrors)
	}
	return l
}

// rowsSize is the memory of n records, which are whole chunks, of which so many run at
// most, and of what finds them.
func rowsSize(n, running int) int64 {
	return int64(n/chunkLen)*memory.Alloc(int64(unsafe.Sizeof([chunkLen]Row{}))) + lookupSize(n, running)
}
