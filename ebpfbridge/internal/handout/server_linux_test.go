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
	return &subscriber{process: &process{pid: pid, group: group}, conn: conn, more: make(chan struct{}, 1)}
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

// TestHandOutAllWaiting has many programs that do not read.
func TestHandOutAllWaiting(t *testing.T) {
	s := Server{subscribers: map[int64]*subscriber{}}
	m := message{body: make([]byte, maxWaiting/2), samples: 1}
	for i := range int64(40) {
		sub := fake(i+1, "")
		if err := s.admit(sub); err != nil {
			t.Fatal(err)
		}
		s.push(sub, m)
	}
	waiting := 0
	for _, sub := range s.subscribers {
		waiting += sub.waiting
	}
	if waiting != s.waiting || waiting != maxAllWaiting || s.status.Lost != 40-waiting/len(m.body) {
		t.Errorf("%d bytes wait, counted %d, %d samples lost", waiting, s.waiting, s.status.Lost)
	}
	// The oldest messages of a process are dropped, and a message beyond the bound too.
	s = Server{subscribers: map[int64]*subscriber{}}
	sub := fake(100, "")
	if err := s.admit(sub); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		s.push(sub, message{agent: string(rune('a' + n)), body: make([]byte, maxWaiting/2), samples: 1})
	}
	if len(sub.queue) != 2 || sub.queue[0].agent != "b" || sub.lost != 1 {
		t.Errorf("%d messages wait, %d samples are lost, want the newest 2", len(sub.queue), sub.lost)
	}
	s.push(sub, message{body: make([]byte, maxWaiting+1), samples: 5})
	if sub.waiting != 0 || sub.lost != 8 {
		t.Errorf("%d bytes wait, %d samples are lost, want 0 and 8", sub.waiting, sub.lost)
	}
}
