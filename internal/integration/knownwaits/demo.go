// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// demo has what the waits need.
type demo struct {
	wait     time.Duration
	tracer   trace.Tracer
	db       *sql.DB
	listener net.Listener
	server   *httptest.Server
	working  sync.WaitGroup // helpers of a wait
}

func newDemo(wait time.Duration) (*demo, error) {
	d := &demo{wait: wait, tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("knownwaits")}
	d.db = sql.OpenDB(connector{})
	d.db.SetMaxOpenConns(1)
	var err error
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	d.working.Go(d.serveSlowly)
	d.server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(wait) }))
	return d, nil
}

func (d *demo) close() {
	d.server.Close()
	_ = d.listener.Close()
	_ = d.db.Close()
	d.working.Wait()
}

// serveSlowly answers each byte late.
func (d *demo) serveSlowly() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 1)
		for {
			if _, err := c.Read(buf); err != nil {
				break
			}
			time.Sleep(d.wait)
			if _, err := c.Write(buf); err != nil {
				break
			}
		}
		_ = c.Close()
	}
}

// runAll has every known wait happen once, each in a local root of its name, and returns
// how long they were by the program's clock.
func (d *demo) runAll() (map[string]time.Duration, error) {
	clocks := map[string]time.Duration{}
	for _, k := range kinds {
		w := &waiter{demo: d, about: make(chan struct{})}
		if err := k.prepare(w); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		ctx, span := d.tracer.Start(context.Background(), k.name)
		w.ctx = ctx
		close(w.about)
		begin := time.Now()
		w.act()
		clocks[k.name] = time.Since(begin)
		span.End()
		if w.after != nil {
			w.after()
		}
		w.helpers.Wait()
	}
	return clocks, nil
}

// waiter is one wait.
type waiter struct {
	*demo
	ctx     context.Context // of the span that waits
	act     func()          // waits
	after   func()          // where it is not nil, puts in order what act has done
	about   chan struct{}   // closed when act is about to be called
	helpers sync.WaitGroup
}

// help runs f in a local root on another goroutine and returns when f has called ready.
func (w *waiter) help(name string, f func(ctx context.Context, ready func())) {
	ready := make(chan struct{})
	w.helpers.Go(func() {
		ctx, span := w.tracer.Start(context.Background(), name)
		defer span.End()
		f(ctx, sync.OnceFunc(func() { close(ready) }))
	})
	<-ready
}

// hold waits until the wait is about to begin, and then as long as it is to last.
func (w *waiter) hold(ctx context.Context) {
	<-w.about
	_, child := w.tracer.Start(ctx, "load from disk")
	time.Sleep(w.wait)
	child.End()
}
