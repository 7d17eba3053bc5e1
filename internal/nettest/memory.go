// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package nettest has networks and faults of networks for tests.
package nettest

import (
	"bufio"
	"context"
	"net"
)

var _ net.Listener = (*Memory)(nil)

// Memory connects a client and a server without sockets, so that a synctest bubble can
// control their time. It is the server's listener.
type Memory struct {
	conns  chan net.Conn
	closed chan struct{} // closed by Close
}

// NewMemory returns a Memory. It must be closed once.
func NewMemory() *Memory {
	return &Memory{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a dialer.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and pending dials; connections stay open.
func (m *Memory) Close() error {
	close(m.closed)
	return nil
}

// Addr returns a placeholder.
func (m *Memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// DialContext connects to the server, whatever the address.
func (m *Memory) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- newBuffered(server):
		return newBuffered(client), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.closed:
		return nil, &net.OpError{Op: "dial", Net: network, Addr: m.Addr(), Err: net.ErrClosed}
	}
}

// buffered reads whole writes from a net.Pipe: a write blocks until all of it is read.
// Otherwise a TLS peer that sends an alert during the other's flight would block forever.
// Sockets do not block there.
type buffered struct {
	net.Conn

	in *bufio.Reader
}

func newBuffered(c net.Conn) buffered { return buffered{c, bufio.NewReaderSize(c, 64<<10)} }

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
