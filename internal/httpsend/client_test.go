// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/nettest"
)

// A connection of HTTP/2 that has become silent is replaced within a minute. One that is
// only idle is kept.
func TestSilentConnection(t *testing.T) {
	certificates := httptest.NewTLSServer(http.NotFoundHandler())
	config := &tls.Config{Certificates: certificates.TLS.Certificates, NextProtos: []string{"h2"}}
	certificates.Close() // has served its purpose, outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		network := nettest.NewMemory()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("request by %s, want HTTP/2", r.Proto)
			}
		})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(tls.NewListener(network, config))
		}()
		var connections int
		transport := httpsend.NewTransport()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		transport.DialContext = func(ctx context.Context, name, address string) (net.Conn, error) {
			c, err := network.DialContext(ctx, name, address)
			if connections++; connections == 1 && err == nil {
				c = nettest.Silent(c, time.Now().Add(100*time.Second))
			}
			return c, err
		}
		client := &http.Client{Transport: transport}
		attempt := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := post(ctx, t, client, "https://127.0.0.1")
			return err
		}

		for range 2 {
			if err := attempt(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		if connections != 1 {
			t.Errorf("%d connections before the fault, want 1", connections)
		}
		start, err := time.Now(), attempt()
		for err != nil && time.Since(start) < time.Hour {
			err = attempt()
		}
		if d := time.Since(start); d > time.Minute || connections != 2 {
			t.Errorf("%v until another connection, %d connections", d, connections)
		}
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
}

// The program's settings for all its connections apply to ours.
func TestOwnPings(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = &http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: time.Hour, MaxReadFrameSize: 1 << 20}}
	if c := httpsend.NewTransport().HTTP2; c.SendPingTimeout != time.Hour || c.PingTimeout == 0 || c.MaxReadFrameSize != 1<<20 {
		t.Errorf("HTTP2 %+v", c)
	}
	http.DefaultTransport = roundTripper(nil)
	if c := httpsend.NewTransport().HTTP2; c.SendPingTimeout == 0 {
		t.Errorf("HTTP2 %+v", c)
	}
}
