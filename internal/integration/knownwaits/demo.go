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
	"runtime"
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

// measured is a wait that has happened.
type measured struct {
	span  trace.SpanContext // of the local root
	clock time.Duration     // by the program's clock
	again int               // how often it happened before, as the clock told nothing of the wait
}

const (
	// mostAgain is how often a wait happens again at most.
	mostAgain = 20
	// mostOutside is how much longer than the clock a span may be: half of what the two may differ.
	mostOutside = 100 * time.Microsecond
)

// runAll has every known wait happen, each in a local root of its name, and returns how long
// they were by the program's clock, by their names. Between the clock and the wait the operating
// system may take the thread away, or the scheduler between the span's start and the clock, for
// longer than a clock may be off: then the wait happens again.
func (d *demo) runAll() (map[string]measured, error) {
	waits := map[string]measured{}
	for _, k := range kinds {
		for again := 0; ; again++ {
			w := &waiter{demo: d, about: make(chan struct{})}
			if err := k.prepare(w); err != nil {
				return nil, fmt.Errorf("%s: %w", k.name, err)
			}
			m, undisturbed := d.runOne(k.name, w)
			if m.again = again; undisturbed || again == mostAgain {
				waits[k.name] = m
				break
			}
		}
	}
	return waits, nil
}

// runOne has a wait happen, and reports whether its thread was its goroutine's whenever that ran,
// and the span had little more than the clock.
func (d *demo) runOne(name string, w *waiter) (m measured, undisturbed bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	close(w.about) // before the span: who wakes others may be kept from running by that
	started := time.Now()
	ctx, span := d.tracer.Start(context.Background(), name)
	w.ctx = ctx
	before := takenAway()
	begin := time.Now()
	w.act()
	m.clock = time.Since(begin)
	after := takenAway()
	span.End()
	outside := time.Since(started) - m.clock
	if w.after != nil {
		w.after()
	}
	w.helpers.Wait()
	m.span = span.SpanContext()
	return m, before == after && outside < mostOutside
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
