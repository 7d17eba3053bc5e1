// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// network connects a client and a server in memory, so that their time can be
// that of a synctest bubble.
type network struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newNetwork() *network {
	return &network{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	close(n.closed)
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4040} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.closed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: n.Addr(), Err: errors.New("connection refused")}
	}
}

// serve starts a server and returns a client that reaches no other, and what
// ends both. It is for synctest bubbles.
func serve(t *testing.T, h http.Handler, certificate *tls.Config) (client *http.Client, stop func()) {
	t.Helper()
	n := newNetwork()
	var l net.Listener = n
	if certificate != nil {
		l = tls.NewListener(n, certificate)
	}
	var handlers sync.WaitGroup
	server := &http.Server{ErrorLog: discard, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	transport := &http.Transport{DialContext: n.dial}
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
		handlers.Wait()
		// The server lets half a second pass before it closes the
		// connection of a request whose body it has not read.
		<-time.After(time.Second)
	}
}

// certificate returns the TLS configuration of a server that no client trusts.
func certificate(t *testing.T) *tls.Config {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
}
