// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// maxEvents is how many events are remembered.
const maxEvents = 512

const eventSize = int64(unsafe.Sizeof(Event{}))

// eventLog is a ring of the newest events.
type eventLog struct {
	mu     sync.Mutex
	events []Event
	// shared says that a view has the events: none may be overwritten.
	shared bool
	// next is the place of the next event once the ring is full.
	next int
	// bytes is the memory of the texts.
	texts int64
}

func (l *eventLog) add(e Event) {
	e.Time = time.Now().Round(0)
	e.Text = strings.Clone(cut(e.Text))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts += e.cost()
	if len(l.events) < maxEvents {
		l.events = append(l.events, e)
		return
	}
	if l.shared {
		l.events, l.shared = slices.Clone(l.events), false
	}
	l.texts -= l.events[l.next].cost()
	l.events[l.next] = e
	l.next = (l.next + 1) % maxEvents
}

// share returns the events, which nobody may change, and the place of the oldest.
func (l *eventLog) share() (events []Event, oldest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = true
	return slices.Clip(l.events), l.next
}

func (l *eventLog) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return allocSize(int64(cap(l.events))*int64(unsafe.Sizeof(Event{}))) + l.texts
}

// cost is the memory of an event's texts.
func (e *Event) cost() int64 {
	return allocSize(int64(len(e.Text))) + allocSize(int64(len(e.Service)))
}
