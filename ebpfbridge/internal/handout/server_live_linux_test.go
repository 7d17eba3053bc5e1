// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package handout

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
		t.Error("the messages of two agents look like those of one")
	}
	await(t, func() bool { return s.Status() == Status{Subscribers: 1, HandedOut: 2} })
	stop()
	if err := <-failures; !strings.Contains(err.Error(), "closed the connection") {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file: %v", err)
	}
	// It connects to the next server by itself.
	l, err := ListenUnix(path, 0o600)
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

// TestHandOutSlow has a program that does not read. It loses the oldest messages, and gets their number.
func TestHandOutSlow(t *testing.T) {
	s, path, _ := serving(t)
	conn := connect(t, s, path)
	large := func() *collectorpb.ExportProfilesServiceRequest {
		m := secrets(now(), own)
		m.GetDictionary().StringTable[m.GetDictionary().GetFunctionTable()[1].GetNameStrindex()] = strings.Repeat("x", 1<<20)
		return m
	}
	sent := uint64(0)
	for s.Status().Lost < 3 {
		if err := s.HandOut("agent", large()); err != nil {
			t.Fatal(err)
		}
		sent++
	}
	s.mu.Lock()
	if sub := s.subscribers[own]; sub.waiting > maxWaiting || s.waiting != sub.waiting {
		t.Errorf("%d bytes wait, of %d in all", sub.waiting, s.waiting)
	}
	s.mu.Unlock()
	in := bufio.NewReader(conn)
	if err := readHello(in); err != nil {
		t.Fatal(err)
	}
	read, told := uint64(0), uint64(0)
	for read+told < sent {
		h, _, err := readFrame(in)
		if err != nil {
			t.Fatal(err)
		}
		read, told = read+1, h.Lost
	}
	if told < 3 || read+told != sent {
		t.Errorf("read %d and were told of %d that are lost, of %d", read, told, sent)
	}
	// A message above the limit of all waiting messages is lost and counted too.
	m := secrets(now(), own)
	m.GetDictionary().StringTable[m.GetDictionary().GetFunctionTable()[1].GetNameStrindex()] = strings.Repeat("x", maxWaiting)
	if err := s.HandOut("agent", m); err != nil {
		t.Fatal(err)
	}
	if h, _, err := readFrame(in); err != nil || h.Length != 0 || h.Lost != told+1 {
		t.Errorf("%+v, %v, want a frame that tells of %d", h, err, told+1)
	}
	await(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.waiting == 0 })
}

// TestHandOutAtTheEnd reads what waits when serving ends.
func TestHandOutAtTheEnd(t *testing.T) {
	s, path, stop := serving(t)
	conn := connect(t, s, path)
	for range 3 {
		if err := s.HandOut("agent", secrets(now(), own)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(strings.TrimPrefix(string(b), hello))
	n := 0
	for ; in.Len() > 0; n++ {
		if _, _, err := readFrame(in); err != nil {
			t.Fatal(err)
		}
	}
	if n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestHandOutHostile(t *testing.T) {
	s, path, _ := serving(t)
	conn := connect(t, s, path)
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return s.Status().Subscribers == 0 })

	// A second connection of a process replaces the first.
	first := connect(t, s, path)
	second, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if b, err := io.ReadAll(first); err != nil || string(b) != hello {
		t.Errorf("the first one got %q, %v, want the end", b, err)
	}
	if err := readHello(second); err != nil {
		t.Error(err)
	}
	if n := s.Status().Subscribers; n != 1 {
		t.Errorf("%d subscribers, want 1", n)
	}
}

// TestReusedID has processes with the id of one that has ended, as Linux sees it.
func TestReusedID(t *testing.T) {
	for name, change := range map[string]func(*process){
		"start time": func(p *process) { p.start-- },
		"user":       func(p *process) { p.user++ },
	} {
		s, path, _ := serving(t)
		conn := connect(t, s, path)
		s.mu.Lock()
		change(s.subscribers[own].process)
		s.mu.Unlock()
		if err := s.HandOut("agent", secrets(now(), own)); err != nil {
			t.Fatal(err)
		}
		if err := readHello(conn); err != nil {
			t.Error(err)
		}
		if h, _, err := readFrame(conn); err == nil {
			t.Errorf("%s: got %+v, want nothing", name, h)
		}
		if status := s.Status(); status.Subscribers != 0 || status.Refused != 1 || status.HandedOut != 0 {
			t.Errorf("%s: %+v, want one refused", name, status)
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

var loaded = time.Now()

func TestStarted(t *testing.T) {
	p := accepted(t, dialIt(t))
	started, err := p.started()
	if err != nil {
		t.Fatal(err)
	}
	if at := time.Unix(0, int64(started)); at.After(loaded) || at.Before(loaded.Add(-time.Minute)) {
		t.Errorf("the process started at %v, want somewhat before %v", at, loaded)
	}
}

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
