// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/internal/testcert"
	"github.com/spanprof/spanprof/internal/nettest"
)

// The certificates of servers that the exporters trust and do not trust. They are made outside
// of the bubbles, which have another time.
var trusted, untrusted tls.Certificate

func newCertificates(t *testing.T) {
	t.Helper()
	_, _, trusted = testcert.New(t)
	_, _, untrusted = testcert.New(t)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// up starts a server that has the fault until it is healed, and an exporter that
// reaches it by dial. stop ends the server after the exporter.
func (f fault) up(t *testing.T, listener net.Listener, dial dialFunc) (b *backend, e *exporter.Queue, stop func()) {
	t.Helper()
	b = &backend{t: t, fault: f.answer}
	server := &http.Server{Handler: b, ErrorLog: log.New(io.Discard, "", 0)} // it complains about the faults
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if f.untrusted && !b.isHealed() {
			return &untrusted, nil
		}
		return &trusted, nil
	}}
	if !f.http1 {
		config.NextProtos = []string{"h2"}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(tls.NewListener(listener, config))
	}()

	// The client of New is a copy of the default.
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	pool := x509.NewCertPool()
	pool.AddCert(trusted.Leaf)
	http.DefaultTransport = &http.Transport{ForceAttemptHTTP2: true, DialContext: f.dial(b, dial), TLSClientConfig: &tls.Config{RootCAs: pool}}
	e, err := otlp.New(otlp.WithEndpointURL("https://127.0.0.1:4318"))
	if err != nil {
		t.Fatal(err)
	}
	return b, e, func() {
		_ = server.Close()
		<-done
	}
}

// upInMemory is up in a synctest bubble.
func (f fault) upInMemory(t *testing.T) (b *backend, e *exporter.Queue, stop func()) {
	t.Helper()
	network := nettest.NewMemory()
	b, e, end := f.up(t, network, network.DialContext)
	return b, e, func() {
		end()
		// The server waits for half a second before it closes a connection with an unread
		// body.
		<-time.After(time.Second)
	}
}

// dial adds the faults of the network.
func (f fault) dial(b *backend, dial dialFunc) dialFunc {
	start := time.Now()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if f.away && !b.isHealed() {
			// The one port at which never anything listens.
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
		}
		c, err := dial(ctx, network, address)
		if f.silent && err == nil && time.Since(start) < time.Second {
			return nettest.Silent(c, start.Add(time.Second)), nil
		}
		return c, err
	}
}
