// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package nettest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/nettest"
)

// echo returns a Proxy in front of an echo server.
func echo(t *testing.T) *nettest.Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	p, err := nettest.NewProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		<-done
	})
	return p
}

// exchange sends text and its end. It returns the reply within the time wait.
func exchange(t *testing.T, p *nettest.Proxy, text string, wait time.Duration) (string, error) {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	_ = c.(*net.TCPConn).CloseWrite() // fails after a reset, as Read then does
	got, err := io.ReadAll(c)
	return string(got), err
}

func TestProxy(t *testing.T) {
	p := echo(t)
	for _, tt := range []struct {
		name  string
		fault nettest.Fault
		got   string
		err   error
	}{
		{name: "none", got: "hello"},
		{name: "refused", fault: nettest.Fault{Refused: true}, err: syscall.ECONNREFUSED},
		{name: "still refused", fault: nettest.Fault{Refused: true}, err: syscall.ECONNREFUSED},
		{name: "latency", fault: nettest.Fault{Latency: time.Millisecond}, got: "hello"},
		{name: "bandwidth", fault: nettest.Fault{Bandwidth: 1 << 10}, got: "hello"},
		{name: "reset", fault: nettest.Fault{End: nettest.ByReset, After: 3}, err: syscall.ECONNRESET},
		{name: "silent", fault: nettest.Fault{End: nettest.BySilence}, err: os.ErrDeadlineExceeded},
		{name: "half-open", fault: nettest.Fault{End: nettest.BySilence, After: 3}, err: os.ErrDeadlineExceeded},
		{name: "slow close", fault: nettest.Fault{SlowClose: true}, err: os.ErrDeadlineExceeded},
		{name: "none again", got: "hello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := p.Set(tt.fault); err != nil {
				t.Fatal(err)
			}
			wait := time.Minute
			if tt.err == os.ErrDeadlineExceeded { //nolint:errorlint // of the table above
				wait = 100 * time.Millisecond
			}
			got, err := exchange(t, p, "hello", wait)
			if !errors.Is(err, tt.err) || tt.err == nil && (err != nil || got != tt.got) {
				t.Errorf("exchange = %q, %v; want %q, %v", got, err, tt.got, tt.err)
			}
		})
	}
}

// A Reset closes open connections; later ones work.
func TestProxyReset(t *testing.T) {
	p := echo(t)
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read after Reset: %v", err)
	}
	if got, err := exchange(t, p, "hello", time.Minute); err != nil || got != "hello" {
		t.Errorf("exchange = %q, %v", got, err)
	}
}
