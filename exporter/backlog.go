// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"container/heap"
)

// backlog holds the items that wait to be sent. It has them in several orders at
// once, each a heap that knows the places of its items, so that taking any of them
// out costs O(log n): after a long outage a directory may hold 100,000.
type backlog struct {
	orders [orders]order
	bytes  int64
}

// The orders, by what comes first.
const (
	byNumber = iota // the oldest
	byBad           // what has proved bad the least often
	byTries         // what was tried the least
	byEnd           // what is too old first
	orders
)

func newBacklog() *backlog {
	b := new(backlog)
	number := func(x, y *item) int { return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.part, y.part)) }
	for i, compare := range [orders]func(x, y *item) int{
		byNumber: number,
		byBad:    func(x, y *item) int { return cmp.Or(cmp.Compare(x.bad, y.bad), number(x, y)) },
		byTries:  func(x, y *item) int { return cmp.Or(cmp.Compare(x.attempts, y.attempts), number(x, y)) },
		byEnd:    func(x, y *item) int { return cmp.Or(x.end.Compare(y.end), number(x, y)) },
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
	b.bytes += i.size
	for o := range b.orders {
		heap.Push(&b.orders[o], i)
	}
}

func (b *backlog) remove(i *item) {
	b.bytes -= i.size
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
