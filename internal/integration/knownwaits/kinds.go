// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// known is a wait of which is known how it is.
type known struct {
	name     string // of the local root that waits
	state    string
	blockers []string // the local roots that it waits for, the one that ends the wait first
	// prepare sets w.act and starts helpers.
	prepare func(w *waiter) error
}

// holder is the span that a wait is for.
const holder = "refresh cache"

var kinds = []known{
	{"mutex", "mutex", []string{holder}, mutex},
	{"late unlock", "mutex", []string{holder}, lateUnlock},
	{"rwmutex, write", "rwmutex", []string{holder}, rwmutexWrite},
	{"rwmutex, read", "rwmutex", []string{holder}, rwmutexRead},
	{"once", "mutex", []string{holder}, once},
	{"three holders", "mutex", []string{"third", "second", "first"}, threeHolders},
	{"channel, receive", "channel", []string{holder}, receive},
	{"channel, send", "channel", []string{holder}, send},
	{"select", "select", []string{holder}, selects},
	{"cond", "cond", []string{holder}, cond},
	{"child goroutines", "waitgroup", []string{"child goroutines"}, children},
	{"waitgroup", "waitgroup", []string{holder}, waitgroup},
	{"connection pool", "select", []string{holder}, pool},
	{"io pipe", "select", []string{holder}, ioPipe},
	{"network", "network", nil, network},
	{"http client", "select", nil, httpClient},
	{"syscall", "syscall", nil, readPipe},
	{"sleep", "sleep", nil, sleep},
	{"timer", "channel", nil, timer},
	{"deadline", "channel", nil, deadline},
}

func mutex(w *waiter) error {
	var mu sync.Mutex
	w.help(holder, func(ctx context.Context, ready func()) {
		mu.Lock()
		defer mu.Unlock()
		ready()
		w.hold(ctx)
	})
	w.act, w.after = mu.Lock, mu.Unlock
	return nil
}

// lateUnlock releases the lock after the end of the span that it was held for.
func lateUnlock(w *waiter) error {
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
	w.act, w.after = mu.Lock, mu.Unlock
	return nil
}

func rwmutexWrite(w *waiter) error {
	var mu sync.RWMutex
	w.help(holder, func(ctx context.Context, ready func()) {
		mu.RLock()
		defer mu.RUnlock()
		ready()
		w.hold(ctx)
	})
	w.act, w.after = mu.Lock, mu.Unlock
	return nil
}

func rwmutexRead(w *waiter) error {
	var mu sync.RWMutex
	w.help(holder, func(ctx context.Context, ready func()) {
		mu.Lock()
		defer mu.Unlock()
		ready()
		w.hold(ctx)
	})
	w.act, w.after = mu.RLock, mu.RUnlock
	return nil
}

func once(w *waiter) error {
	var o sync.Once
	w.help(holder, func(ctx context.Context, ready func()) {
		o.Do(func() {
			ready()
			w.hold(ctx)
		})
	})
	w.act = func() { o.Do(func() {}) }
	return nil
}

// threeHolders has three spans hold a lock one after the other, the later ones in the
// queue before the span that waits.
func threeHolders(w *waiter) error {
	var mu sync.Mutex
	w.help("first", func(ctx context.Context, ready func()) {
		mu.Lock()
		defer mu.Unlock()
		ready()
		w.hold(ctx)
	})
	for _, name := range []string{"second", "third"} {
		w.help(name, func(_ context.Context, ready func()) {
			time.AfterFunc(w.wait/4, ready) // in the queue by then
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(w.wait / 2)
		})
	}
	w.act, w.after = mu.Lock, mu.Unlock
	return nil
}

func receive(w *waiter) error {
	c := make(chan int)
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		c <- 1
	})
	w.act = func() { <-c }
	return nil
}

func send(w *waiter) error {
	c := make(chan int)
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		<-c
	})
	w.act = func() { c <- 1 }
	return nil
}

func selects(w *waiter) error {
	c, other := make(chan int), make(chan int)
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		c <- 1
	})
	w.act = func() {
		select {
		case <-c:
		case <-other:
		}
	}
	return nil
}

func cond(w *waiter) error {
	var mu sync.Mutex
	c, done := sync.NewCond(&mu), false
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		mu.Lock()
		done = true
		mu.Unlock() // before the signal, so that the waiter does not wait for the lock too
		c.Signal()
	})
	w.act = func() {
		mu.Lock()
		defer mu.Unlock()
		for !done {
			c.Wait()
		}
	}
	return nil
}

func waitgroup(w *waiter) error {
	var g sync.WaitGroup
	g.Add(1)
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		g.Done()
	})
	w.act = g.Wait
	return nil
}

// children has two goroutines work for the span, of which it waits for the slower one.
func children(w *waiter) error {
	w.act = func() {
		var g sync.WaitGroup
		for name, wait := range map[string]time.Duration{"quick": w.wait / 4, "slow": w.wait} {
			g.Go(func() {
				_, child := w.tracer.Start(w.ctx, name)
				defer child.End()
				time.Sleep(wait)
			})
		}
		g.Wait()
	}
	return nil
}

// pool has the only connection of a database/sql pool in use.
func pool(w *waiter) error {
	var failed error
	w.help(holder, func(ctx context.Context, ready func()) {
		c, err := w.db.Conn(ctx)
		if failed = err; err != nil {
			ready()
			return
		}
		ready()
		w.hold(ctx)
		_ = c.Close()
	})
	var c *sql.Conn
	w.act = func() { c, _ = w.db.Conn(context.Background()) }
	w.after = func() {
		if c != nil {
			_ = c.Close()
		}
	}
	return failed
}

func ioPipe(w *waiter) error {
	r, to := io.Pipe()
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		_, _ = to.Write([]byte{1})
	})
	w.act = func() { _, _ = r.Read(make([]byte, 1)) }
	return nil
}

func network(w *waiter) error {
	c, err := net.Dial("tcp", w.listener.Addr().String())
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	w.act = func() { _, _ = c.Read(make([]byte, 1)) }
	w.after = func() { _ = c.Close() }
	return nil
}

func httpClient(w *waiter) error {
	client := w.server.Client()
	// A connection that is open already, so that this waits for the answer alone.
	if err := get(client.Get(w.server.URL)); err != nil {
		return err
	}
	w.act = func() { _ = get(client.Get(w.server.URL)) }
	return nil
}

func readPipe(w *waiter) error {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return err
	}
	w.help(holder, func(ctx context.Context, ready func()) {
		ready()
		w.hold(ctx)
		_, _ = syscall.Write(ends[1], []byte{1})
	})
	w.act = func() { _, _ = syscall.Read(ends[0], make([]byte, 1)) }
	w.after = func() { _, _ = syscall.Close(ends[0]), syscall.Close(ends[1]) }
	return nil
}

func sleep(w *waiter) error {
	w.act = func() { time.Sleep(w.wait) }
	return nil
}

func timer(w *waiter) error {
	w.act = func() { <-time.After(w.wait) }
	return nil
}

func deadline(w *waiter) error {
	w.act = func() {
		ctx, cancel := context.WithTimeout(context.Background(), w.wait)
		defer cancel()
		<-ctx.Done()
	}
	return nil
}
