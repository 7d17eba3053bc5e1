// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"unsafe"
)

// otherName counts the spans of names that are too many to count each.
const otherName = "other"

// spanName is the name of spans of one service.
type spanName struct {
	nameKey
	// next is another name with the same hash.
	next        *spanName
	serviceText *spanText
	// holders are the records with the name, and its place in the list of names
	// that have something to count.
	holders
	// counts is what was not yet taken; counted says that this is something.
	counts  nameCount
	counted bool
	// keeper may be shared; nil if no extremes are kept.
	keeper *spanKeeper
}

type nameKey struct {
	service, value string
}

func (n *spanName) cost() int64 {
	return allocSize(int64(unsafe.Sizeof(*n))) + allocSize(int64(len(n.value))) + churnSize(8+pointerSize)
}

// retainName returns the name with a reference.
func (l *spanLog) retainName(service, value string) *spanName {
	key := nameKey{service, value}
	hash := key.hash(l.seed)
	n := l.names.get(hash, key)
	if n == nil {
		text := l.retainText(service)
		n = &spanName{nameKey: nameKey{text.String(), strings.Clone(value)}, serviceText: text, keeper: l.newKeeper()}
		l.names.add(hash, n)
		n.bytes = n.cost()
		l.bytes += n.bytes
	}
	l.retain(&n.holders)
	return n
}

func (l *spanLog) releaseName(n *spanName) {
	l.release(&n.holders)
	if n.refs > 0 {
		return
	}
	l.names.remove(n.hash(l.seed), n)
	l.bytes -= n.bytes
	l.releaseText(n.serviceText)
	if n.keeper != nil && n.keeper != &l.others {
		l.keepers--
		l.bytes -= l.keeperCost()
	}
}

// newKeeper returns the keeper for a new name.
func (l *spanLog) newKeeper() *spanKeeper {
	switch {
	case l.perName == 0:
		return nil
	case l.keepers == l.maxKeepers:
		return &l.others
	}
	l.keepers++
	l.bytes += l.keeperCost()
	return &spanKeeper{}
}

// keeperCost is the memory of a keeper that is full.
func (l *spanLog) keeperCost() int64 {
	return allocSize(int64(unsafe.Sizeof(spanKeeper{}))) + 2*allocSize(int64(l.perName)*int64(unsafe.Sizeof(rowID(0)))*5/4)
}

// count returns what counts the spans of a name. What there is no room for counts
// as the rest of its service, and that of further services as one.
func (l *spanLog) count(n *spanName) *nameCount {
	if n.counted {
		return &n.counts
	}
	l.retain(&n.holders)
	for _, service := range [...]string{n.service, ""} {
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
func (l *spanLog) isFull(n *spanName) bool {
	names, bytes := maxNames, l.maxBytes/8
	if n.value == otherName {
		names, bytes = maxNames+maxServices, bytes*5/4
	}
	return len(l.counted) >= names || l.countedBytes+n.countedCost() > bytes
}

// countedCost is what a name takes that nothing else holds.
func (n *spanName) countedCost() int64 {
	if n.serviceText == nil {
		return n.bytes
	}
	return n.bytes + n.serviceText.bytes
}

// takeCounts returns what was counted since it was last asked for.
func (l *spanLog) takeCounts() []nameCount {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.pendingCounts()
	for _, n := range l.counted {
		n.counted, n.counts = false, nameCount{}
		l.releaseName(n)
	}
	clear(l.counted)
	l.counted, l.countedBytes = l.counted[:0], 0
	return counts
}

// pendingCounts returns what was counted since takeCounts. The caller holds the
// lock.
func (l *spanLog) pendingCounts() []nameCount {
	counts := make([]nameCount, len(l.counted))
	for i, n := range l.counted {
		counts[i] = n.counts
		counts[i].nameKey = n.nameKey
	}
	return counts
}
