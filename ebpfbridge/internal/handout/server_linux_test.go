// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"net"
	"os"
	"strings"
	"testing"
)

// own is this process's id.
var own = int64(os.Getpid())

// fake returns a subscriber without a process.
func fake(pid int64, group string) *subscriber {
	conn, _ := net.Pipe()
	return &subscriber{process: &process{pid: pid, group: group}, conn: conn, queue: make(chan message, maxMessages)}
}

// TestHandOutBounds has many processes in two containers.
func TestHandOutBounds(t *testing.T) {
	s := Server{subscribers: map[int64]*subscriber{}}
	full := 0
	for i := range int64(3 * maxSubscribers) {
		sub := fake(i+1, strings.Repeat("x", int(i%8)))
		if i < maxSubscribers {
			sub.group = "hostile"
		}
		if err := s.admit(sub); err != nil {
			full++
		}
	}
	groups := map[string]int{}
	for _, sub := range s.subscribers {
		groups[sub.group]++
	}
	if len(s.subscribers) != maxSubscribers || groups["hostile"] != maxSubscribers/4 || full != 2*maxSubscribers {
		t.Errorf("%d subscribers, %d refused, groups %v", len(s.subscribers), full, groups)
	}
}

// Of programs that do not read, the oldest messages are lost.
func TestWaitingIsBounded(t *testing.T) {
	s := Server{subscribers: map[int64]*subscriber{}}
	sub := fake(100, "")
	if err := s.admit(sub); err != nil {
		t.Fatal(err)
	}
	push := func(agent string, size, samples int) {
		s.push(sub, message{agent: agent, body: make([]byte, size), samples: samples})
	}
	for _, agent := range []string{"a", "b", "c"} {
		push(agent, maxWaiting/2, 1)
	}
	if len(sub.queue) != 2 || s.status.Lost != 1 {
		t.Errorf("%d messages wait, %d samples are lost, want the newest 2", len(sub.queue), s.status.Lost)
	}
	if m, lost := s.next(t.Context(), sub); m.agent != "b" || lost != 1 {
		t.Errorf("got a message of %q and %d lost samples, want the oldest that waits", m.agent, lost)
	}
	sub.waiting -= maxWaiting / 2 // it is written
	push("d", maxWaiting+1, 5)
	if sub.waiting != 0 || s.status.Lost != 7 || sub.lost != 6 {
		t.Errorf("%d bytes wait, %d samples are lost, %d of them new, want 0, 7 and 6", sub.waiting, s.status.Lost, sub.lost)
	}
	for i := range int64(2*maxAllWaiting/maxWaiting - 1) {
		if err := s.admit(fake(i, "")); err != nil {
			t.Fatal(err)
		}
	}
	push("e", maxWaiting/2+1, 1)
	push("f", maxWaiting/2, 1)
	if sub.waiting != maxWaiting/2 || s.status.Lost != 8 {
		t.Errorf("%d bytes wait, %d samples are lost, want half as many beside others", sub.waiting, s.status.Lost)
	}
	for range 2 * maxMessages {
		push("g", 0, 0)
	}
	if len(sub.queue) != maxMessages {
		t.Errorf("%d messages wait, want %d", len(sub.queue), maxMessages)
	}
}

// When a program connects, the oldest messages of others are dropped.
func TestAllWaitingIsBounded(t *testing.T) {
	s := Server{subscribers: map[int64]*subscriber{}}
	waiting := func() (bytes int) {
		for _, sub := range s.subscribers {
			bytes += sub.waiting
		}
		return bytes
	}
	body := make([]byte, maxWaiting/maxMessages)
	for i := range int64(maxSubscribers) {
		sub := fake(i, strings.Repeat("x", int(i%8)))
		if err := s.admit(sub); err != nil {
			t.Fatal(err)
		}
		for range maxMessages {
			s.push(sub, message{body: body})
		}
		if n := waiting(); n > maxAllWaiting {
			t.Fatalf("%d bytes wait for %d programs, want at most %d", n, i+1, maxAllWaiting)
		}
	}
	if n := waiting(); n != maxAllWaiting {
		t.Errorf("%d bytes wait, want the newest %d", n, maxAllWaiting)
	}
}
