// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package handout

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
)

const other = 1 << 30

func TestHandOut(t *testing.T) {
	s, path, stop := serving(t)
	got := make(chan Delivery, 10)
	failures := make(chan error, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Read(ctx, path, func(d Delivery) { got <- d }, func(err error) { failures <- err })
	}()
	await(t, func() bool { return s.Status().Subscribers == 1 })
	for _, m := range []*collectorpb.ExportProfilesServiceRequest{secrets(now(), other), secrets(now(), other, own)} {
		if err := s.HandOut("one", m); err != nil {
			t.Fatal(err)
		}
	}
	first := <-got
	if n := len(first.Message.GetResourceProfiles()); n != 1 {
		t.Errorf("%d processes, want its own alone", n)
	}
	if err := s.HandOut("two", secrets(now(), own)); err != nil {
		t.Fatal(err)
	}
	if second := <-got; second.Connection == first.Connection {
		t.Error("the messages of two agents look like one agent's")
	}
	// A message above the limit is lost, and the program gets the number.
	m := secrets(now(), own)
	m.GetDictionary().StringTable[m.GetDictionary().GetFunctionTable()[1].GetNameStrindex()] = strings.Repeat("x", maxWaiting)
	for _, m := range []*collectorpb.ExportProfilesServiceRequest{m, secrets(now(), own)} {
		if err := s.HandOut("one", m); err != nil {
			t.Fatal(err)
		}
	}
	if d := <-got; d.Message == nil || d.Lost != 1 {
		t.Errorf("got %+v, want a message and 1 lost sample", d)
	}
	await(t, func() bool { return s.Status() == Status{Subscribers: 1, HandedOut: 3, Lost: 1} })
	stop()
	if err := <-failures; !strings.Contains(err.Error(), "closed the connection") {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file: %v", err)
	}
	// It connects to the next server by itself.
	l, err := ListenUnix(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	next := new(Server)
	nextCtx, stopNext := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- next.Serve(nextCtx, l) }()
	await(t, func() bool { return next.Status().Subscribers == 1 })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	stopNext()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A second connection of a process replaces the first. Other requests get nothing.
func TestHandOutHostile(t *testing.T) {
	s, path, _ := serving(t)
	first := connect(t, s, path)
	second := connect(t, s, path)
	if b, err := io.ReadAll(first); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(b) > 0 {
		t.Errorf("the first one got %q, %v, want the end", b, err)
	}
	if n := s.Status().Subscribers; n != 1 {
		t.Errorf("%d subscribers, want 1", n)
	}
	if _, err := second.Write([]byte("GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(second); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 404") {
		t.Errorf("got %q, %v, want 404", b, err)
	}
	await(t, func() bool { return s.Status().Subscribers == 0 })
}

// TestReusedID has processes with the id of one that has ended, as Linux sees it. One gets
// nothing of a new message, and nothing that waits.
func TestReusedID(t *testing.T) {
	for name, change := range map[string]func(*process){
		"start time": func(p *process) { p.start-- },
		"user":       func(p *process) { p.user++ },
	} {
		for _, waits := range []bool{false, true} {
			s, path, _ := serving(t)
			conn := connect(t, s, path)
			hand := func() {
				if err := s.HandOut("agent", secrets(now(), own)); err != nil {
					t.Fatal(err)
				}
			}
			if waits {
				hand()
			}
			s.mu.Lock()
			change(s.subscribers[own].process)
			s.mu.Unlock()
			if !waits {
				hand()
			}
			_, _ = conn.Write([]byte("GET /samples HTTP/1.1\r\nHost: x\r\n\r\n"))
			if b, _ := io.ReadAll(conn); len(b) > 0 {
				t.Errorf("%s, %t: got %q, want nothing", name, waits, b)
			}
			await(t, func() bool { return s.Status().Subscribers == 0 })
			if status := s.Status(); status.Refused != 1 || status.HandedOut != 0 {
				t.Errorf("%s, %t: %+v, want one refused", name, waits, status)
			}
		}
	}
}

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

// serving serves a socket until the end of the test, or until stop is called.
func serving(t *testing.T) (s *Server, path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := ListenUnix(path, 0o666)
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
