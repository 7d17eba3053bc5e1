// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"os"
	"strings"
	"testing"
)

// own is this process's id.
var own = int64(os.Getpid())

// TestHandOutBounds has many processes in two containers.
func TestHandOutBounds(t *testing.T) {
	var s Server
	full := 0
	for i := range int64(3 * MaxSubscribers) {
		sub := &subscriber{process: &process{pid: i + 1, group: strings.Repeat("x", int(i%8))}, more: make(chan struct{}, 1)}
		if i < MaxSubscribers {
			sub.group = "hostile"
		}
		if err := s.add(sub); err != nil {
			full++
		}
	}
	groups := map[string]int{}
	for _, sub := range s.subscribers {
		groups[sub.group]++
	}
	if len(s.subscribers) != MaxSubscribers || groups["hostile"] != MaxSubscribers/4 || full != 2*MaxSubscribers {
		t.Errorf("%d subscribers, %d refused, groups %v", len(s.subscribers), full, groups)
	}
}

// TestHandOutAllWaiting has many programs that do not read.
func TestHandOutAllWaiting(t *testing.T) {
	var s Server
	f := frame{message: make([]byte, maxWaiting/2), samples: 1}
	for i := range int64(40) {
		sub := &subscriber{process: &process{pid: i}, more: make(chan struct{}, 1)}
		if err := s.add(sub); err != nil && i < MaxSubscribers/4 {
			t.Fatal(err)
		}
		s.push(sub, f)
	}
	waiting := int64(0)
	for _, sub := range s.subscribers {
		waiting += sub.waiting
	}
	if waiting != s.waiting || waiting > maxAllWaiting || s.status.Lost != 40-uint64(waiting/f.bytes()) {
		t.Errorf("%d bytes wait, counted %d, %d samples lost", waiting, s.waiting, s.status.Lost)
	}
}
