// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// serving serves a socket until the end of the test, or until stop is called.
func serving(t *testing.T) (s *Server, path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s = new(Server)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, path, stop
}

// now returns a time that is after the start of this process.
func now() []uint64 { return []uint64{uint64(time.Now().UnixNano())} }

// own is this process's id.
var own = int64(os.Getpid())

// connect connects as a program that reads nothing yet.
func connect(t *testing.T, s *Server, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	await(t, func() bool { return s.Status().Subscribers == 1 })
	return conn
}

// await waits until f holds.
func await(t *testing.T, f func() bool) {
	t.Helper()
	for !f() {
		if t.Context().Err() != nil {
			t.Fatal("the test has ended")
		}
		runtime.Gosched()
	}
}

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
