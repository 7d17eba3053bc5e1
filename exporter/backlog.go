// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/recordfile"
)

// backlog holds the items that wait to be sent. It has them in several orders at
// once, each a heap that knows the places of its items, so that taking any of them
// out costs O(log n): after a long outage a directory may hold 100,000.
type backlog struct {
	age    func(*item) time.Duration // how old an item may become
	orders [orders]order
	bytes  int64
	memory int64 // of bytes, those that are in no file
}

// The orders, by what comes first.
const (
	byNumber = iota // the oldest
	byBad           // what has proved bad the least often
	byTries         // what was tried the least
	byExpiry        // what is too old first
	byPlace         // what waits in memory, and of that what could be in a file
	orders
)

func newBacklog(age func(*item) time.Duration) *backlog {
	b := &backlog{age: age}
	number := func(x, y *item) int { return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.part, y.part)) }
	for i, compare := range [orders]func(x, y *item) int{
		byNumber: number,
		byBad:    func(x, y *item) int { return cmp.Or(cmp.Compare(x.bad, y.bad), number(x, y)) },
		byTries:  func(x, y *item) int { return cmp.Or(cmp.Compare(x.attempts, y.attempts), number(x, y)) },
		byExpiry: func(x, y *item) int { return cmp.Or(x.expires.Compare(y.expires), number(x, y)) },
		byPlace:  func(x, y *item) int { return cmp.Or(cmp.Compare(x.place(), y.place()), number(x, y)) },
	} {
		b.orders[i] = order{index: i, compare: compare}
	}
	return b
}

func (b *backlog) len() int { return len(b.orders[byNumber].items) }

// first returns the first item of an order, nil if there is none.
func (b *backlog) first(order int) *item {
	if b.len() == 0 {
		return nil
	}
	return b.orders[order].items[0]
}

func (b *backlog) oldest() *item { return b.first(byNumber) }

func (b *backlog) add(i *item) {
	i.expires = i.end.Add(b.age(i))
	b.bytes += i.size
	b.memory += i.inMemory()
	for o := range b.orders {
		heap.Push(&b.orders[o], i)
	}
}

func (b *backlog) remove(i *item) {
	b.bytes -= i.size
	b.memory -= i.inMemory()
	for o := range b.orders {
		heap.Remove(&b.orders[o], i.at[o])
	}
}

// order is a heap.Interface that keeps the places of its items in them.
type order struct {
	index   int
	compare func(x, y *item) int
	items   []*item
}

func (o *order) Len() int           { return len(o.items) }
func (o *order) Less(i, j int) bool { return o.compare(o.items[i], o.items[j]) < 0 }

func (o *order) Swap(i, j int) {
	o.items[i], o.items[j] = o.items[j], o.items[i]
	o.items[i].at[o.index], o.items[j].at[o.index] = i, j
}

func (o *order) Push(x any) {
	i := x.(*item)
	i.at[o.index] = len(o.items)
	o.items = append(o.items, i)
}

func (o *order) Pop() any {
	last := len(o.items) - 1
	i := o.items[last]
	o.items[last] = nil
	o.items = o.items[:last]
	return i
}

// item is a profile in a lane, in memory or in a file.
type item struct {
	number uint64 // counts up in the order of arrival
	part   int    // of a profile that was split
	size   int64

	// The rest is of items that are sent again if they fail. While one is being
	// sent, only its attempt uses these.
	kind     Kind      // of its profile; empty before a file of an earlier process is read
	end      time.Time // from which its age counts
	attempts int
	failedAt uint64 // retry.answers when it last failed; 0 if it has not
	bad      int    // how often it failed although another was taken since the last time
	doubtful bool   // the destination may have it
	spilled  bool   // it is in a file
	unfit    bool   // no file can hold it

	file    string      // where it is, if it is spilled; empty once it was set aside
	profile *Profile    // nil while it is in a file
	expires time.Time   // set by a backlog
	at      [orders]int // where it is in a backlog
}

// unreadableError says that the bytes of a profile cannot be had.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// newItem returns what waits in memory for p, whose pprof form is data. It has a Profile
// of its own, because p may have been made from the parsed form, which is many times
// larger.
func newItem(p *Profile, end time.Time, data []byte) *item {
	return &item{kind: p.Kind(), end: end, size: int64(len(data)), profile: NewProfile(p.window, data)}
}

// place orders items: those that could be moved to a file come first, then those that
// have to wait in memory.
func (i *item) place() int {
	switch {
	case i.spilled:
		return 2
	case i.unfit:
		return 1
	}
	return 0
}

// inMemory returns how much of the size is in no file.
func (i *item) inMemory() int64 {
	if i.spilled {
		return 0
	}
	return i.size
}

// load returns the profile for an attempt. A damaged file is set aside; what fails
// for another reason, too many open files for example, is tried again.
func (i *item) load() (*Profile, error) {
	if i.profile != nil {
		return i.profile, nil
	}
	w, data, err := readSpilled(i.file)
	if err == nil {
		i.kind, i.profile = w.Kind, NewProfile(w, data)
		return i.profile, nil
	}
	if _, damaged := errors.AsType[*recordfile.DamagedError](err); damaged {
		aside, failure := recordfile.SetAside(i.file)
		i.file = ""
		if failure != nil {
			return nil, &unreadableError{errors.Join(err, failure)}
		}
		return nil, &unreadableError{fmt.Errorf("%w; it is %s now", err, aside)}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, &unreadableError{err}
	}
	return nil, &RetryError{Err: err, Refused: true}
}

// unload forgets the bytes of an attempt if there is a file.
func (i *item) unload() {
	if i.spilled {
		i.profile = nil
	}
}

// mark says in the name of the file whether the destination may have the profile:
// the next Queue has to know it, even if the process is killed in the middle of an
// attempt. Where that fails, a duplicate is not counted.
func (i *item) mark(doubtful bool) {
	if i.file == "" || doubtful == strings.HasSuffix(i.file, doubtfulSuffix) {
		return
	}
	from, to := spillSuffix, doubtfulSuffix
	if !doubtful {
		from, to = to, from
	}
	name := strings.TrimSuffix(i.file, from) + to
	if os.Rename(i.file, name) == nil {
		i.file = name
	}
}

// remove removes the file. Where that fails, the profile is sent twice, as it is
// after a kill.
func (i *item) remove() {
	if i.file != "" {
		_ = os.Remove(i.file)
	}
}
