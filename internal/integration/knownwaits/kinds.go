// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// demo is shared by the waits.
type demo struct {
	wait   time.Duration
	tracer trace.Tracer
	db     *sql.DB
	server *httptest.Server
}

func newDemo(wait time.Duration) (*demo, error) {
	d := &demo{wait: wait, tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("knownwaits")}
	d.db = sql.OpenDB(connector{})
	d.db.SetMaxOpenConns(1)
	d.server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(wait) }))
	return d, d.get() // later requests reuse the connection
}

func (d *demo) close() {
	d.server.Close()
	_ = d.db.Close()
}

func (d *demo) get() error {
	response, err := d.server.Client().Get(d.server.URL)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// connector makes connections of database/sql without any function.
type connector struct{ driver.Conn }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (connector) Driver() driver.Driver                          { return nil }
func (connector) Close() error                                   { return nil }

// waiter is one wait.
type waiter struct {
	*demo
	ctx        context.Context // of the waiting span
	act, after func()          // waits; cleans up
	about      chan struct{}   // closed before act
	helpers    sync.WaitGroup
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
	prepare  func(w *waiter) error
}

// holder is the blocking span.
const holder = "refresh cache"

// held is a wait until the holder has called give. It calls take before.
func held(name, state string, prepare func(w *waiter) (take, give, act, after func())) known {
	return known{name, state, []string{holder}, func(w *waiter) error {
		take, give, act, after := prepare(w)
		w.act, w.after = act, after
		w.help(holder, func(ctx context.Context, ready func()) {
			if take != nil {
				take()
			}
			ready()
			w.hold(ctx)
			give()
		})
		return nil
	}}
}

// alone is a wait without a blocker.
func alone(name, state string, act func(w *waiter)) known {
	return known{name, state, nil, func(w *waiter) error {
		w.act = func() { act(w) }
		return nil
	}}
}

var kinds = []known{
	held("mutex", "mutex", func(*waiter) (_, _, _, _ func()) {
		var mu sync.Mutex
		return mu.Lock, mu.Unlock, mu.Lock, mu.Unlock
	}),
	{"late unlock", "mutex", []string{holder}, lateUnlock},
	held("rwmutex, write", "rwmutex", func(*waiter) (_, _, _, _ func()) {
		var mu sync.RWMutex
		return mu.RLock, mu.RUnlock, mu.Lock, mu.Unlock
	}),
	held("rwmutex, read", "rwmutex", func(*waiter) (_, _, _, _ func()) {
		var mu sync.RWMutex
		return mu.Lock, mu.Unlock, mu.RLock, mu.RUnlock
	}),
	{"once", "mutex", []string{holder}, once},
	{"three holders", "mutex", []string{"third", "second", "first"}, threeHolders},
	held("channel, receive", "channel", func(*waiter) (_, _, _, _ func()) {
		c := make(chan int)
		return nil, func() { c <- 1 }, func() { <-c }, nil
	}),
	held("channel, send", "channel", func(*waiter) (_, _, _, _ func()) {
		c := make(chan int)
		return nil, func() { <-c }, func() { c <- 1 }, nil
	}),
	held("select", "select", func(*waiter) (_, _, _, _ func()) {
		c, other := make(chan int), make(chan int)
		return nil, func() { c <- 1 }, func() {
			select {
			case <-c:
			case <-other:
			}
		}, nil
	}),
	held("cond", "cond", func(*waiter) (_, _, _, _ func()) {
		var mu sync.Mutex
		c := sync.NewCond(&mu)
		mu.Lock()
		return nil, func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // the waiter waits for the signal and not for the lock
			c.Signal()
		}, c.Wait, mu.Unlock
	}),
	{"child goroutines", "waitgroup", []string{"child goroutines"}, children},
	held("waitgroup", "waitgroup", func(*waiter) (_, _, _, _ func()) {
		var g sync.WaitGroup
		g.Add(1)
		return nil, g.Done, g.Wait, nil
	}),
	held("connection pool", "select", func(w *waiter) (_, _, _, _ func()) {
		var theirs, ours *sql.Conn
		return func() { theirs, _ = w.db.Conn(context.Background()) }, func() { _ = theirs.Close() },
			func() { ours, _ = w.db.Conn(context.Background()) }, func() { _ = ours.Close() }
	}),
	held("io pipe", "select", func(*waiter) (_, _, _, _ func()) {
		r, to := io.Pipe()
		return nil, func() { _, _ = to.Write([]byte{1}) }, func() { _, _ = r.Read(make([]byte, 1)) }, nil
	}),
	{"network", "network", nil, network},
	alone("http client", "select", func(w *waiter) { _ = w.get() }),
	{"syscall", "syscall", nil, readPipe},
	alone("sleep", "sleep", func(w *waiter) { time.Sleep(w.wait) }),
	alone("timer", "channel", func(w *waiter) { <-time.After(w.wait) }),
	alone("deadline", "channel", func(w *waiter) {
		ctx, cancel := context.WithTimeout(context.Background(), w.wait)
		defer cancel()
		<-ctx.Done()
	}),
}

// lateUnlock releases the lock after the end of the holder's span.
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

// threeHolders has three spans in the queue of a lock before the waiting span.
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
			time.AfterFunc(w.wait/4, ready) // it is in the queue then
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(w.wait / 2)
		})
	}
	w.act, w.after = mu.Lock, mu.Unlock
	return nil
}

// children waits for the slower of two goroutines of the span.
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

func network(w *waiter) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	peer, err := listener.Accept()
	if err != nil {
		return err
	}
	w.helpers.Go(func() {
		<-w.about
		time.Sleep(w.wait)
		_, _ = peer.Write([]byte{1})
		_ = peer.Close()
	})
	w.act = func() { _, _ = c.Read(make([]byte, 1)) }
	w.after = func() { _ = c.Close() }
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
