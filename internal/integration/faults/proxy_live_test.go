// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// networkFault is what a networkProxy does to its connections. The zero value does nothing.
type networkFault struct {
	// Refused closes the listening port.
	Refused bool
	// Latency delays every piece, each way.
	Latency time.Duration
	// Bandwidth limits the bytes per second, each way; 0 is no limit.
	Bandwidth int
	// SlowClose keeps the end of one side of a connection from the other.
	SlowClose bool
	// End is how a connection fails after After bytes from the client.
	End   ending
	After int
}

// ending is how a connection fails.
type ending int

const (
	// whole connections do not fail.
	whole ending = iota
	// byReset resets both sides.
	byReset
	// bySilence closes the server's side and keeps the client's side open without
	// reading or answering: half-open, as after a crash.
	bySilence
)

// networkProxy forwards TCP connections to a server, with an optional fault.
type networkProxy struct {
	server  string
	address string
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	fault    networkFault
	links    map[*link]struct{}

	failed atomic.Int64
}

// newNetworkProxy returns a networkProxy in front of the server at that address. It must be closed.
func newNetworkProxy(server string) (*networkProxy, error) {
	address := "127.0.0.1:0"
	if runtime.GOOS == "linux" { // no other socket gets it while connections are refused
		address = fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	p := &networkProxy{server: server, address: address, links: make(map[*link]struct{})}
	return p, p.Set(networkFault{})
}

// Address returns the listening address. It never changes.
func (p *networkProxy) Address() string { return p.address }

// Set resets all connections. New connections have the fault f.
func (p *networkProxy) Set(f networkFault) error {
	p.mu.Lock()
	p.fault = f
	old := p.listener
	if f.Refused {
		p.listener = nil
	}
	p.reset() // under the same lock: a later connection has the new fault
	p.mu.Unlock()
	if f.Refused && old != nil {
		return old.Close()
	}
	if f.Refused || old != nil {
		return nil
	}

	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.address = l, l.Addr().String()
	p.mu.Unlock()
	p.running.Go(func() { p.accept(l) })
	return nil
}

// Failed returns how many connections have met their End.
func (p *networkProxy) Failed() int { return int(p.failed.Load()) }

// Reset resets all connections.
func (p *networkProxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

// reset is Reset for a caller that holds p.mu.
func (p *networkProxy) reset() {
	for l := range p.links {
		l.reset()
	}
}

// Close ends the networkProxy and its connections.
func (p *networkProxy) Close() error {
	err := p.Set(networkFault{Refused: true})
	p.running.Wait()
	return err
}

func (p *networkProxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		k := &link{client: client.(*net.TCPConn), done: make(chan struct{}), failed: &p.failed}
		p.mu.Lock()
		k.fault = p.fault
		if p.listener != l {
			k.reset()
		}
		p.links[k] = struct{}{}
		p.mu.Unlock()
		p.running.Go(func() {
			k.run(p.server)
			p.mu.Lock()
			delete(p.links, k)
			p.mu.Unlock()
		})
	}
}

// link is one connection through the networkProxy.
type link struct {
	fault  networkFault
	client *net.TCPConn
	silent atomic.Bool
	failed *atomic.Int64 // counts connections that have met their End

	mu     sync.Mutex
	server *net.TCPConn // nil until connected
	ended  bool
	done   chan struct{} // closed by reset
}

// run forwards until both sides have ended, or the link is reset.
func (l *link) run(server string) {
	defer l.reset()
	if l.fault.End == bySilence && l.fault.After == 0 {
		l.failed.Add(1)
		<-l.done
		return
	}
	conn, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.server = conn.(*net.TCPConn)
	if l.ended {
		closeHard(l.server)
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(l.client, l.server, true) })
	both.Go(func() { l.forward(l.server, l.client, false) })
	both.Wait()
	if l.silent.Load() {
		<-l.done
	}
}

// forward copies what one side sends to the other, until it ends.
func (l *link) forward(from, to *net.TCPConn, request bool) {
	piece := make([]byte, 4<<10)
	left := l.fault.After
	for {
		n, err := from.Read(piece)
		if n > 0 && !l.pause(n) {
			return
		}
		if request && l.fault.End != whole && n >= left {
			_, _ = to.Write(piece[:left])
			l.failed.Add(1)
			if l.fault.End == byReset {
				l.reset()
			} else {
				l.silent.Store(true)
				closeHard(to)
			}
			return
		}
		left -= n
		if l.silent.Load() {
			return
		}
		if _, failure := to.Write(piece[:n]); failure != nil {
			return
		}
		if err != nil {
			if l.fault.SlowClose {
				<-l.done
			}
			_ = to.CloseWrite()
			return
		}
	}
}

// pause takes as long as the network would take for n bytes. It returns false if the
// link was reset in the meantime.
func (l *link) pause(n int) bool {
	d := l.fault.Latency
	if l.fault.Bandwidth > 0 {
		d += time.Duration(n) * time.Second / time.Duration(l.fault.Bandwidth)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	close(l.done)
	closeHard(l.client)
	if l.server != nil {
		closeHard(l.server)
	}
}

// closeHard ends a connection by a reset.
func closeHard(c *net.TCPConn) { _ = errors.Join(c.SetLinger(0), c.Close()) }
