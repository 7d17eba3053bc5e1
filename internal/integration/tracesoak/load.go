// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// handedOn is the name of spans that end on another goroutine than they began on.
const handedOn = "handed on"

// load keeps goroutines in spans busy in the ways that traces have trouble with.
type load struct {
	*ledger
	mu      sync.Mutex // that spans wait for
	command string     // that does nothing, successfully
	pipe    [2]*os.File
	conn    [2]net.Conn
}

func newLoad(l *ledger) (*load, error) {
	command, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	w := &load{ledger: l, command: command}
	if w.pipe[0], w.pipe[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	w.conn[0], w.conn[1] = net.Pipe()
	return w, nil
}

func (w *load) close() {
	for i := range w.pipe {
		_ = w.pipe[i].Close()
		_ = w.conn[i].Close()
	}
}

// start begins all loads. They end with ctx; working is done then.
func (w *load) start(ctx context.Context, working *sync.WaitGroup) {
	for _, l := range []struct {
		goroutines int
		pause      time.Duration
		run        func()
	}{
		{4, 40 * time.Millisecond, w.lock},
		{2, 50 * time.Millisecond, w.children},
		{2, 20 * time.Millisecond, w.allocate},
		{2, 50 * time.Millisecond, w.dyingThread},
		{1, 100 * time.Millisecond, w.fork},
		{1, 50 * time.Millisecond, w.readPipe},
		{1, 50 * time.Millisecond, w.readConn},
		{1, 50 * time.Millisecond, w.handOn},
		{1, 200 * time.Millisecond, w.deepStack},
	} {
		for range l.goroutines {
			working.Go(func() {
				for ctx.Err() == nil {
					l.run()
					pause(ctx, l.pause)
				}
			})
		}
	}
}

// pause waits for a time, or for the end of ctx.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

func (w *load) lock() {
	_, end := w.span("lock")
	defer end()
	w.mu.Lock()
	defer w.mu.Unlock()
	time.Sleep(time.Millisecond)
}

func (w *load) children() {
	ctx, end := w.span("children")
	defer end()
	var g sync.WaitGroup
	for _, name := range []string{"first", "second", "third"} {
		g.Go(func() {
			defer w.child(ctx, name)()
			time.Sleep(time.Millisecond)
		})
	}
	g.Wait()
}

var garbage = make(chan []byte, 100)

func (w *load) allocate() {
	_, end := w.span("allocate")
	defer end()
	for range 100 {
		select {
		case garbage <- make([]byte, 20_000):
		default:
			<-garbage
		}
	}
}

// dyingThread has a span on a thread that ends with its goroutine.
func (w *load) dyingThread() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it
		_, end := w.span("dying thread")
		defer end()
		time.Sleep(100 * time.Microsecond)
	}()
	<-done
}

func (w *load) fork() {
	_, end := w.span("fork")
	defer end()
	_ = exec.Command(w.command).Run()
}

func (w *load) readPipe() {
	_, end := w.span("read a pipe")
	defer end()
	time.AfterFunc(time.Millisecond, func() { _, _ = w.pipe[1].Write([]byte{1}) })
	_, _ = w.pipe[0].Read(make([]byte, 1))
}

func (w *load) readConn() {
	_, end := w.span("read a connection")
	defer end()
	go func() { _, _ = w.conn[1].Write([]byte{1}) }()
	_, _ = w.conn[0].Read(make([]byte, 1))
}

func (w *load) handOn() {
	_, end := w.span(handedOn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	<-done
}

// deepStack has a stack of more frames than a trace keeps, and a name that is long.
func (w *load) deepStack() {
	_, end := w.span("deep stack " + strings.Repeat("x", 200))
	defer end()
	deep(200)
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		time.Sleep(100 * time.Microsecond)
		return 0
	}
	return 1 + deep(n-1)
}
