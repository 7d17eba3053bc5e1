// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package waitclass_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/waitclass"
)

// TestRealWaits blocks a goroutine in each way, and compares its class.
func TestRealWaits(t *testing.T) {
	stop := make(chan struct{})
	var wait sync.WaitGroup
	want := make(map[string]string)
	run := func(name string, class waitclass.Class, f func()) {
		want[name] = class.String()
		wait.Go(func() { pprof.Do(context.Background(), pprof.Labels("wait", name), func(context.Context) { f() }) })
	}

	run("receive", waitclass.Channel, func() { <-stop })
	run("receive ok", waitclass.Channel, func() {
		if _, ok := <-stop; ok {
			t.Error("received something")
		}
	})
	run("range", waitclass.Channel, func() {
		for range stop {
			t.Error("received something")
		}
	})
	sends := make(chan int)
	run("send", waitclass.Channel, func() { sends <- 1 })
	run("select", waitclass.Select, func() {
		select {
		case <-stop:
		case <-make(chan int):
		}
	})
	var mu sync.Mutex
	mu.Lock()
	run("Mutex", waitclass.Mutex, func() {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // what is waited for is all
	})
	var write, read sync.RWMutex
	write.Lock()
	run("RLock", waitclass.Mutex, func() {
		write.RLock()
		write.RUnlock() //nolint:staticcheck // likewise
	})
	read.RLock()
	run("RWMutex", waitclass.Mutex, func() {
		read.Lock()
		read.Unlock() //nolint:staticcheck // likewise
	})
	var group sync.WaitGroup
	group.Add(1)
	run("WaitGroup", waitclass.CondWaitGroup, group.Wait)
	var condMu sync.Mutex
	cond, over := sync.NewCond(&condMu), false
	run("Cond", waitclass.CondWaitGroup, func() {
		condMu.Lock()
		defer condMu.Unlock()
		for !over {
			cond.Wait()
		}
	})

	run("Sleep", waitclass.Sleep, func() {
		for !closed(stop) {
			time.Sleep(50 * time.Millisecond)
		}
	})
	run("running", waitclass.Running, func() {
		for n := 0; !closed(stop); {
			n++
		}
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	run("Read", waitclass.Network, func() { _, _ = connection.Read(make([]byte, 1)) })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run("os.Pipe", waitclass.Syscall, func() { _, _ = r.Read(make([]byte, 1)) })
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	run("call", waitclass.Syscall, func() { _, _ = syscall.Read(ends[0], make([]byte, 1)) })
	next, stopPull := iter.Pull(func(yield func(int) bool) {
		<-stop
		yield(1)
	})
	run("iter.Pull", waitclass.Unknown, func() { next() })

	var got map[string]string
	for d := 10 * time.Millisecond; ; d *= 2 {
		if got = classes(t); cmp.Equal(want, got) {
			break
		}
		if d > 8*time.Second {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
			break
		}
		time.Sleep(d)
	}

	close(stop)
	<-sends
	for _, c := range []io.Closer{listener, connection, accepted, r, w} {
		_ = c.Close() // ends the waits for it
	}
	mu.Unlock()
	write.Unlock()
	read.RUnlock()
	group.Done()
	condMu.Lock()
	over = true
	condMu.Unlock()
	cond.Broadcast()
	_ = syscall.Close(ends[1])
	wait.Wait()
	_ = syscall.Close(ends[0])
	stopPull()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// classes returns the class of each goroutine with a label "wait".
func classes(t *testing.T) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, s := range p.Sample {
		if len(s.Label["wait"]) == 0 {
			continue
		}
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		name := s.Label["wait"][0]
		got[name] = waitclass.Of(slices.Values(names)).String()
		// The profiles of package profiler leave out that a goroutine is parked.
		without := slices.DeleteFunc(names, func(n string) bool { return n == "runtime.gopark" || n == "runtime.goparkunlock" })
		if class := waitclass.Of(slices.Values(without)).String(); class != got[name] {
			t.Errorf("%s: %s with gopark, and %s without, of %q", name, got[name], class, without)
		}
	}
	return got
}
