// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"cmp"
	"time"
)

// otherName counts the spans of names that are too many to count each.
const otherName = "other"

const (
	// maxNames is how many names are counted between two windows, maxRests how
	// many services have a rest of their own besides.
	maxNames = 1000
	maxRests = 256
)

// Count counts spans of one name, over some time.
type Count struct {
	Texts
	Numbers
}

// Texts tell names apart. Label is the span_name label of their samples.
type Texts struct {
	NameKey
	Label string
}

// NameKey is a name of spans and the service that they are of.
type NameKey struct {
	Service, Value string
}

// Numbers are the sums of some spans.
type Numbers struct {
	Duration, MaxDuration, CPU time.Duration
	Spans, Errors, CPUCount    int64
}

// Add adds other, of the same name.
func (c *Count) Add(other Count) {
	c.Label = cmp.Or(other.Label, c.Label)
	c.Spans += other.Spans
	c.Errors += other.Errors
	c.Duration += other.Duration
	c.MaxDuration = max(c.MaxDuration, other.MaxDuration)
	c.CPU += other.CPU
	c.CPUCount += other.CPUCount
}

// count returns what counts the spans of a name. What there is no room for counts
// as the rest of its service, and that of further services as one.
func (l *Log) count(n *Name) *Count {
	if n.counted {
		return &n.counts
	}
	l.retain(&n.holders)
	for _, service := range [...]string{n.Service, ""} {
		if n.counted || !l.isFull(n) {
			break
		}
		other := l.retainName(service, otherName)
		l.releaseName(n)
		n = other
	}
	if n.counted {
		l.releaseName(n)
		return &n.counts
	}
	n.counted = true
	l.counted = append(l.counted, n)
	l.countedBytes += n.countedCost()
	return &n.counts
}

// isFull says whether there are too many names to count one more. The rest of a
// service finds room for longer.
func (l *Log) isFull(n *Name) bool {
	names, bytes := maxNames, l.maxBytes/8
	if n.Value == otherName {
		names, bytes = maxNames+maxRests, bytes*5/4
	}
	return len(l.counted) >= names || l.countedBytes+n.countedCost() > bytes
}

// countedCost is what a name takes that nothing else holds.
func (n *Name) countedCost() int64 {
	if n.serviceText == nil {
		return n.bytes
	}
	return n.bytes + n.serviceText.bytes
}

// TakeCounts returns what was counted since it was last asked for.
func (l *Log) TakeCounts() []Count {
	l.lock()
	defer l.mu.Unlock()
	counts := l.pendingCounts()
	for _, n := range l.counted {
		n.counted, n.counts = false, Count{}
		l.releaseName(n)
	}
	clear(l.counted)
	l.counted, l.countedBytes = l.counted[:0], 0
	return counts
}

// pendingCounts returns what was counted since TakeCounts. The caller holds the
// lock.
func (l *Log) pendingCounts() []Count {
	counts := make([]Count, len(l.counted))
	for i, n := range l.counted {
		counts[i] = n.counts
		counts[i].NameKey = n.NameKey
	}
	return counts
}
