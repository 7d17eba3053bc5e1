// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// waiter is one wait.
type waiter struct {
	wait    time.Duration
	tracer  trace.Tracer
	ctx     context.Context // of the waiting span
	about   chan struct{}   // closed before act
	helpers sync.WaitGroup
}

// help runs f in a local root on another goroutine, until f has called ready.
func (w *waiter) help(name string, f func(ctx context.Context, ready func())) {
	ready := make(chan struct{})
	w.helpers.Go(func() {
		ctx, span := w.tracer.Start(context.Background(), name)
		defer span.End()
		f(ctx, sync.OnceFunc(func() { close(ready) }))
	})
	<-ready
}

// hold sleeps in a child during the wait.
func (w *waiter) hold(ctx context.Context) {
	<-w.about
	_, child := w.tracer.Start(ctx, "load from disk")
	time.Sleep(w.wait)
	child.End()
}

// known is a kind of wait.
type known struct {
	name     string // of the local root
	state    string
	blockers []string // local roots, the last holder first
	// prepare returns a function that waits, and one that cleans up.
	prepare func(w *waiter) (act, after func())
}

// holder is the blocking span.
const holder = "refresh cache"

// held is a wait until the holder has called give. It calls take before.
func held(name, state string, prepare func() (take, give, act, after func())) known {
	return known{name, state, []string{holder}, func(w *waiter) (_, _ func()) {
		take, give, act, after := prepare()
		w.help(holder, func(ctx context.Context, ready func()) {
			take()
			ready()
			w.hold(ctx)
			give()
		})
		return act, after
	}}
}

func nothing() {}

var kinds = []known{
	held("mutex", "mutex", func() (_, _, _, _ func()) {
		var mu sync.Mutex
		return mu.Lock, mu.Unlock, mu.Lock, mu.Unlock
	}),
	{"late unlock", "mutex", []string{holder}, lateUnlock},
	held("rwmutex, write", "rwmutex", func() (_, _, _, _ func()) {
		var mu sync.RWMutex
		return mu.RLock, mu.RUnlock, mu.Lock, mu.Unlock
	}),
	held("rwmutex, read", "rwmutex", func() (_, _, _, _ func()) {
		var mu sync.RWMutex
		return mu.Lock, mu.Unlock, mu.RLock, mu.RUnlock
	}),
	{"three holders", "mutex", []string{"third", "second", "first"}, threeHolders},
	held("channel, receive", "channel", func() (_, _, _, _ func()) {
		c := make(chan int)
		return nothing, func() { c <- 1 }, func() { <-c }, nothing
	}),
	held("channel, send", "channel", func() (_, _, _, _ func()) {
		c := make(chan int)
		return nothing, func() { <-c }, func() { c <- 1 }, nothing
	}),
	held("select", "select", func() (_, _, _, _ func()) {
		c, other := make(chan int), make(chan int)
		return nothing, func() { c <- 1 }, func() {
			select {
			case <-c:
			case <-other:
			}
		}, nothing
	}),
	held("cond", "cond", func() (_, _, _, _ func()) {
		var mu sync.Mutex
		c := sync.NewCond(&mu)
		mu.Lock()
		return nothing, func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // the waiter waits for the signal and not for the lock
			c.Signal()
		}, c.Wait, mu.Unlock
	}),
	{"child goroutines", "waitgroup", []string{"child goroutines"}, children},
	{"network", "network", nil, network},
	{"syscall", "syscall", nil, readPipe},
	{"sleep", "sleep", nil, func(w *waiter) (_, _ func()) { return func() { time.Sleep(w.wait) }, nothing }},
	{"timer", "channel", nil, func(w *waiter) (_, _ func()) { return func() { <-time.After(w.wait) }, nothing }},
}

// lateUnlock releases the lock after the end of the holder's span.
func lateUnlock(w *waiter) (act, after func()) {
	var mu sync.Mutex
	ready := make(chan struct{})
	w.helpers.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		ctx, span := w.tracer.Start(context.Background(), holder)
		defer span.End()
		close(ready)
		w.hold(ctx)
	})
	<-ready
	return mu.Lock, mu.Unlock
}

// threeHolders has three spans in the queue of a lock before the waiting span.
func threeHolders(w *waiter) (act, after func()) {
	var mu sync.Mutex
	w.help("first", func(ctx context.Context, ready func()) {
		mu.Lock()
		defer mu.Unlock()
		ready()
		w.hold(ctx)
	})
	for _, name := range []string{"second", "third"} {
		w.help(name, func(_ context.Context, ready func()) {
			time.AfterFunc(w.wait/4, ready) // it is in the queue then
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(w.wait / 2)
		})
	}
	return mu.Lock, mu.Unlock
}

// children waits for the slower of two goroutines of the span.
func children(w *waiter) (act, after func()) {
	return func() {
		var g sync.WaitGroup
		for name, wait := range map[string]time.Duration{"quick": w.wait / 4, "slow": w.wait} {
			g.Go(func() {
				_, child := w.tracer.Start(w.ctx, name)
				defer child.End()
				time.Sleep(wait)
			})
		}
		g.Wait()
	}, nothing
}

func network(w *waiter) (act, after func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	w.helpers.Go(func() {
		<-w.about
		time.Sleep(w.wait)
		if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
			_ = c.Close()
		}
	})
	return func() { _, _ = listener.Accept() }, func() { _ = listener.Close() }
}

func readPipe(w *waiter) (act, after func()) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		panic(err)
	}
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		_, _ = syscall.Write(ends[1], []byte{1})
	})
	return func() { _, _ = syscall.Read(ends[0], make([]byte, 1)) },
		func() { _, _ = syscall.Close(ends[0]), syscall.Close(ends[1]) }
}
