// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && unix

package waitclass_test

import (
	"bytes"
	"context"
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

// TestRealWaits blocks a goroutine in each way, and compares its class. They stay blocked.
func TestRealWaits(t *testing.T) {
	want := make(map[string]string)
	run := func(name string, class waitclass.Class, f func()) {
		want[name] = class.String()
		go pprof.Do(context.Background(), pprof.Labels("wait", name), func(context.Context) { f() })
	}
	c := make(chan int)
	run("receive", waitclass.Channel, func() { <-make(chan int) })
	run("range", waitclass.Channel, func() {
		for range make(chan int) {
			t.Error("received something")
		}
	})
	run("send", waitclass.Channel, func() { c <- 1 })
	run("select", waitclass.Select, func() {
		select {
		case <-make(chan int):
		case <-make(chan int):
		}
	})
	var mu, condMu sync.Mutex
	mu.Lock()
	run("Mutex", waitclass.Mutex, mu.Lock)
	var write, read sync.RWMutex
	write.Lock()
	run("RLock", waitclass.Mutex, write.RLock)
	read.RLock()
	run("RWMutex", waitclass.Mutex, read.Lock)
	var group sync.WaitGroup
	group.Add(1)
	run("WaitGroup", waitclass.CondWaitGroup, group.Wait)
	condMu.Lock()
	run("Cond", waitclass.CondWaitGroup, sync.NewCond(&condMu).Wait)
	run("Sleep", waitclass.Sleep, func() { time.Sleep(time.Hour) })
	ended := t.Context()
	run("running", waitclass.Running, func() {
		for ended.Err() == nil { //nolint:revive // it works
		}
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run("Accept", waitclass.Network, func() { _, _ = listener.Accept() })
	r, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run("os.Pipe", waitclass.Syscall, func() { _, _ = r.Read(make([]byte, 1)) })
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	run("call", waitclass.Syscall, func() { _, _ = syscall.Read(ends[0], make([]byte, 1)) })
	next, _ := iter.Pull(func(yield func(int) bool) {
		<-make(chan int)
		yield(1)
	})
	run("iter.Pull", waitclass.Unknown, func() { next() })

	var got map[string]string
	for d := 10 * time.Millisecond; !cmp.Equal(want, got) && d < 8*time.Second; d *= 2 {
		time.Sleep(d)
		got = classes(t)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
